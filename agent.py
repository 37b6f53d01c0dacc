"""Cortex-R at the terminal: arguments in, exit code out."""

import gc
import os
import sys

TYPE_CHECKING = False  # that of `typing` takes 8 ms, in which Ctrl-C would show a traceback
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # what is built in of it; the whole takes 4 ms

INTERRUPTED = 130
"""Exit code of `core.errors.ExitCode.INTERRUPTED`, which may not be imported yet."""


def _end_at_interrupt(*_: object) -> "NoReturn":
    """End the process at once: nothing is begun yet that would have to be ended in good order.

    An exception would be lost, or made another, where extension modules are imported.
    """
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _open_standard_streams() -> None:
    """Give every closed standard stream /dev/null, so that no other file takes its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.set_inheritable(number, True)  # for `docs`, which becomes another program
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    if os.environ.get("PYTHONUNBUFFERED"):
        # Python then takes a part that was written for the whole, and an answer is cut in silence.
        out = sys.stdout
        sys.stdout = os.fdopen(1, "w", encoding=out.encoding, errors=out.errors, closefd=False)


def main() -> "NoReturn":
    """Run the agent on the process's own arguments and end the process with its exit code.

    `run_agent` has closed and written everything when it returns. `os._exit` skips the teardown
    of a thousand modules, and an import that Ctrl-C left running in a thread.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _end_at_interrupt)
    _open_standard_streams()
    # Collecting while a thousand modules are imported finds nothing and costs a tenth. Whoever
    # has imported them enables it.
    gc.disable()
    from modules.app import run_agent  # here, so that Ctrl-C is met from the first moment

    try:
        try:
            code = run_agent(sys.argv[1:])
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            sys.stderr.write("interrupted\n")
            code = INTERRUPTED
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C would only show a traceback
    except KeyboardInterrupt:  # one of several came before that
        os._exit(INTERRUPTED)
    sys.stdout.flush()
    try:
        sys.stderr.flush()
    except OSError:  # nobody listens to the complaints
        os._exit(code)
    os._exit(code)


if __name__ == "__main__":
    main()
