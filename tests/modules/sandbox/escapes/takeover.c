/* All four proofs with raw system calls, in place of the worker: argv gives file, variable, port,
   marker and the host's pid. What it finds it writes to standard output. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *path) {
    char kept[4096];
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    long length = file < 0 ? 0 : syscall(SYS_read, file, kept, sizeof kept);
    if (length > 0) syscall(SYS_write, 1, kept, length);
}

int main(int count, char **words) {
    if (count != 6) return 2;
    char *const shell[] = {"sh", "-c", NULL, NULL};
    char command[4096], path[64];
    const char *secret = getenv(words[2]);
    syscall(SYS_write, 1, "started\n", 8);
    show(words[1]);
    if (secret) syscall(SYS_write, 1, secret, strlen(secret));
    show("/proc/self/environ");
    snprintf(path, sizeof path, "/proc/%s/environ", words[5]);
    show(path);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[3]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    long tcp = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    if (tcp >= 0) syscall(SYS_connect, tcp, &to, sizeof to);
    snprintf(command, sizeof command, "touch '%s'", words[4]);
    memcpy((void *)&shell[2], &(char *){command}, sizeof(char *));
    pid_t child = fork();
    if (child <= 0) {
        syscall(SYS_execve, "/bin/sh", shell, NULL);
        if (child == 0) _exit(1);
    } else {
        waitpid(child, NULL, 0);
    }
    syscall(SYS_write, 1, "ended\n", 6);
    return 0;
}
