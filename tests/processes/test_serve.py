"""`agent.py serve` as a process: answers, signals, kills, tokens, foreign pages, bad clients."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import httpx2
import openai
import pytest

from core.values import Json, JsonObject
from tests.command_line import (
    ROOT,
    SUMS_SERVER,
    agent,
    environment,
    plan,
    script,
    session_files,
    without_servers,
    write_profile,
)
from tests.core.dispatch.fixture_servers import is_gone
from tests.modules.trace.otel.receiver import receiving
from tests.processes.conftest import GATED
from tests.screens import WAIT_SECONDS, wait_until

ALICE = "token-of-alice-0123456789abcdef"
BOB = "token-of-bob-0123456789abcdef00"
OWNER = "token-of-owner-0123456789abcdef"
SECRETS = {"ALICE": ALICE, "BOB": BOB}


@dataclass
class Service:
    """A service that runs, and what it has written."""

    process: subprocess.Popen[bytes]
    url: str
    home: Path
    token: str = ""
    opened: list[httpx2.Client] = field(default_factory=list[httpx2.Client])

    def client(self, token: str = "") -> httpx2.Client:
        """A client that waits for no more than the tests do."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        made = httpx2.Client(base_url=self.url, headers=headers, timeout=WAIT_SECONDS)
        self.opened.append(made)
        return made

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it, and wait for its end."""
        self.process.send_signal(number)
        return self.process.wait(WAIT_SECONDS)

    @property
    def stderr(self) -> str:
        """What it has told so far."""
        return (self.home / "stderr").read_text()


Serve: TypeAlias = Callable[..., Service]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts `agent.py serve` on a free port; it is killed afterwards, if it still runs."""
    with ExitStack() as stack:

        def start(*arguments: str, **extra: str) -> Service:
            return stack.enter_context(_service(tmp_path, arguments, extra))

        yield start


@contextmanager
def _service(home: Path, arguments: Sequence[str], extra: dict[str, str]) -> Generator[Service]:
    line = [sys.executable, str(ROOT / "agent.py"), "serve", "--port", "0", "--json", *arguments]
    with (home / "stderr").open("ab") as stderr:
        process = subprocess.Popen(
            line,
            cwd=home,
            env=environment(home, **extra),
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # which is signalled as a terminal does it
        )
    assert process.stdout is not None
    service = Service(process, "", home)
    try:
        told = process.stdout.readline()
        assert told, service.stderr
        service.url = json.loads(told)["url"]
        yield service
    finally:
        for each in service.opened:
            each.close()
        process.kill()
        process.wait()
        process.stdout.close()


def gated(home: Path, *gates: str, answers: Sequence[str] = ()) -> list[str]:
    """Options for plans that wait at gates, one after the other."""
    folder = home / "gates"
    folder.mkdir(exist_ok=True)
    entry = f"id: gate\nscript: {GATED}\nargs: [{folder}]\ndescription: waits at gates"
    body = 'r = await tools.hold(name="{}")\nreturn f"FINAL_ANSWER: {{r}}"'
    replies = [plan(body.format(gate)) for gate in gates]
    model = script(home, [*replies, *answers])
    options = ["--profile", str(write_profile(home, entry)), "--model", model]
    return [*options, "--approve", "gate.hold"]


Event: TypeAlias = tuple[str, JsonObject]


def events(response: httpx2.Response) -> Iterator[Event]:
    """Name and data of each message."""
    assert response.status_code == 200, response.read()
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def chat(client: httpx2.Client, message: str = "go", **more: object) -> list[Event]:
    """All events of an answer."""
    with client.stream("POST", "/chat", json={"message": message, **more}) as response:
        return [*events(response)]


def held(response: httpx2.Response) -> Iterator[Event]:
    """The events of a run behind the one by which it stands at a gate."""
    told = events(response)
    for name, _ in told:
        if name == "tool.start":
            break
    return told


def gate_pid(home: Path) -> int:
    return int((home / "gates" / "pid").read_text())


def test_it_answers_and_a_terminal_goes_on_with_the_conversation(
    serve: Serve, tmp_path: Path
) -> None:
    add = plan('return f"FINAL_ANSWER: {await tools.add(a=5, b=7)}"')
    profile = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    service = serve(*profile, "--model", script(tmp_path, [add]))
    told = chat(service.client(), "add 5 and 7", conversation_id="sums")
    assert told[-1][1]["answer"] == "12"
    assert len(session_files(tmp_path)) == 0  # a named session has a name of its own
    assert service.end() == 0
    shown = agent(tmp_path, "sessions", "show", "sums", *profile)
    assert "add 5 and 7" in shown.out
    assert f"listening on {service.url}" in service.stderr
    assert "Traceback" not in service.stderr


def send_to_process(service: Service) -> None:
    service.process.send_signal(signal.SIGTERM)


def press_ctrl_c(service: Service) -> None:
    os.killpg(service.process.pid, signal.SIGINT)


@pytest.mark.parametrize("end", [send_to_process, press_ctrl_c])
def test_a_signal_lets_runs_finish(
    serve: Serve, tmp_path: Path, end: Callable[[Service], None]
) -> None:
    service = serve(*gated(tmp_path, "a"))
    client = service.client()
    with client.stream("POST", "/chat", json={"message": "go"}) as response:
        rest = held(response)
        end(service)
        wait_until(lambda: client.get("/health").status_code == 503)
        refused = client.post("/chat", json={"message": "more"})
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        (tmp_path / "gates" / "a").touch()
        told = [*rest]
    assert told[-1][1]["answer"] == "a is open"
    assert service.process.wait(WAIT_SECONDS) == 0
    assert is_gone(gate_pid(tmp_path))


@pytest.mark.parametrize("is_again", [False, True])
def test_runs_that_take_too_long_are_cancelled(
    serve: Serve, tmp_path: Path, *, is_again: bool
) -> None:
    seconds = "60" if is_again else "0.3"
    service = serve(*gated(tmp_path, "shut"), "--drain-seconds", seconds)
    with service.client().stream("POST", "/chat", json={"message": "go"}) as response:
        rest = held(response)
        service.process.send_signal(signal.SIGTERM)
        if is_again:
            wait_until(lambda: "again, and they are cancelled" in service.stderr)
            service.process.send_signal(signal.SIGTERM)
        told = [*rest]
    assert told[-1][0] == "response.done"
    assert told[-1][1]["status"] == "interrupted"
    assert service.process.wait(WAIT_SECONDS) == 0
    assert is_gone(gate_pid(tmp_path))


def test_of_a_killed_service_the_next_one_tells_what_was(serve: Serve, tmp_path: Path) -> None:
    options = gated(tmp_path, "shut")
    service = serve(*options)
    with service.client().stream("POST", "/chat", json={"message": "go"}) as response:
        run = response.headers["x-run-id"]
        held(response)
        service.process.kill()
        service.process.wait()
    wait_until(lambda: is_gone(gate_pid(tmp_path)))
    client = serve(*options).client()
    assert client.get(f"/runs/{run}").json()["status"] == "interrupted"
    with client.stream("GET", f"/runs/{run}/events") as response:
        told = [*events(response)]
    assert [name for name, _ in told if name in ("run.started", "tool.start")]
    assert told[-1][0] == "response.done"
    assert told[-1][1]["status"] == "interrupted"


def test_a_client_that_leaves_in_the_midst_leaves_no_call(serve: Serve, tmp_path: Path) -> None:
    service = serve(*gated(tmp_path, "shut", answers=[plan('return "FINAL_ANSWER: next"')]))
    client = service.client()
    with client.stream("POST", "/chat", json={"message": "go"}) as response:
        held(response)
    wait_until(lambda: client.get("/runs").json()["runs"] == [])
    assert chat(client, conversation_id="other")[-1][1]["answer"] == "next"
    assert service.end() == 0
    assert is_gone(gate_pid(tmp_path))


def test_an_address_that_is_taken_is_told_in_a_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = agent(tmp_path, "serve", "--port", port, *without_servers(tmp_path))
    assert done.code == 2
    assert done.out == ""
    assert f"can't listen on 127.0.0.1, port {port}" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "give each user a token"),  # noqa: S104 - which is refused
        (["--host", "nowhere.invalid"], "no such address"),
        (["--token-env", "MISSING=alice"], "MISSING: the variable is not set"),
        (["--token-env", "SHORT=alice"], "fewer than 16 characters"),
        (["--port", "65536"], "no whole number from 0 to 65535"),
        (["--allow-tool-changes"], "leave out --allow-tool-changes"),
        (["--runs", "0"], "no whole number from 1 to 256"),
        (["--allow-origin", "chat.example"], "is no origin"),
        (["--profile", "missing.yaml"], "missing.yaml: can't be read"),
        (["--model", "nonsense"], "nonsense"),
        (["--token-env", "LONG=alice:lap"], "no profile 'lap'"),
    ],
)
def test_what_can_not_be_served_is_told_before_anything(
    tmp_path: Path, options: Sequence[str], told: str
) -> None:
    environ = environment(tmp_path, SHORT="0123456789", LONG=ALICE)
    usual = without_servers(tmp_path)
    done = agent(tmp_path, "serve", "--port", "0", *usual, *options, env=environ)
    assert done.code == 2
    assert told in done.err
    assert "listening" not in done.err
    assert "0123456789" not in done.err


def test_users_are_apart_and_tokens_stay_secret(serve: Serve, tmp_path: Path) -> None:
    answers = [plan(f'return "FINAL_ANSWER: of {name}"') for name in ("alice", "bob")]
    usual = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, answers)]
    tokens = ["--token-env", "ALICE=alice", "--token-env", "BOB=bob:default"]
    service = serve(*usual, *tokens, **SECRETS)
    hers, his = service.client(ALICE), service.client(BOB)
    told = chat(hers, f"my token is {ALICE}", conversation_id="notes")
    run = told[-1][1]["run"]
    assert hers.get("/chat/notes/history").status_code == 200
    for path in ("/chat/notes/history", "/chat/notes/trace", f"/runs/{run}"):
        assert his.get(path).status_code == 404
    assert service.client().get("/chats").status_code == 401
    assert service.client("wrong" * 5).get("/chats").status_code == 401
    wrong = service.client().get(f"/chats?token={ALICE}")
    assert ALICE not in wrong.text
    assert service.end() == 0
    assert (tmp_path / "users" / "alice" / "memory" / "notes.json").exists()
    assert not (tmp_path / "users" / "bob" / "memory").exists()
    assert not [*tmp_path.glob("memory/*.json")]
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or ALICE.encode() not in path.read_bytes(), path


def test_the_log_of_a_server_holds_no_token(serve: Serve, tmp_path: Path) -> None:
    server = ROOT / "tests" / "fixtures" / "servers" / "repeating_server.py"
    entry = f"id: again\nscript: {server}\ndescription: repeats"
    repeat = plan(f'return "FINAL_ANSWER: " + await tools.repeat(text="{ALICE}")')
    usual = ["--profile", str(write_profile(tmp_path, entry)), "--approve", "again.repeat"]
    # Nothing in this variable's name says that it holds a secret.
    options = [*usual, "--token-env", "ALICE=alice", "--model", script(tmp_path, [repeat])]
    service = serve(*options, **SECRETS)
    client = service.client(ALICE)
    assert chat(client)[-1][1]["answer"] == "repeated"
    assert service.end() == 0
    log = tmp_path / "users" / "alice" / "logs" / "servers" / "again.log"
    assert "told: [redacted" in log.read_text()
    assert ALICE not in log.read_text()


def test_what_a_user_has_it_remember_is_told_to_nobody_else(serve: Serve, tmp_path: Path) -> None:
    memory = f"id: memory\nscript: {ROOT / 'servers' / 'memory_server.py'}\ndescription: facts"
    options = ["--profile", str(write_profile(tmp_path, memory)), "--model", "offline"]
    tokens = ["--token-env", "ALICE=alice", "--token-env", "BOB=bob", "--token-env", "OWNER"]
    service = serve(*options, *tokens, **SECRETS, OWNER=OWNER)
    hers, others = service.client(ALICE), [service.client(BOB), service.client(OWNER)]
    assert chat(hers, "remember that my locker is 7741")[-1][1]["status"] == "done"
    told = [str(chat(each, "what do you remember?")[-1][1]["answer"]) for each in (hers, *others)]
    assert "7741" in told[0]
    assert told[1:] == ["No facts or preferences are kept yet."] * 2
    assert service.end() == 0


def test_a_changed_tool_is_allowed_by_each_user_alone(serve: Serve, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("as it was")
    server = ROOT / "tests" / "fixtures" / "servers" / "redefined_server.py"
    entry = f"id: notes\nscript: {server}\nargs: [{words}]\ndescription: notes"
    read = plan('return f"FINAL_ANSWER: {await tools.read()}"')
    usual = ["--profile", str(write_profile(tmp_path, entry)), "--approve", "notes.read"]
    tokens = ["--token-env", "ALICE=alice", "--token-env", "BOB=bob"]
    options = [*usual, *tokens, "--model", script(tmp_path, [read] * 2)]
    service = serve(*options, **SECRETS)
    for token in (ALICE, BOB):
        assert chat(service.client(token))[-1][1]["answer"] == "a note"
    assert service.end() == 0
    words.write_text("poisoned")
    service = serve(*options, **SECRETS)
    for token in (ALICE, BOB):  # what one has allowed is a question to the other all the same
        assert _allowed(service.client(token)) == "changed_tools"
    assert service.end() == 0


def _allowed(client: httpx2.Client) -> Json:
    """The kind of the question that a run puts and that is answered with yes."""
    kind, last = None, None
    with client.stream("POST", "/chat", json={"message": "go"}) as response:
        run = response.headers["x-run-id"]
        for name, data in events(response):
            last = data
            if name == "clarify.request":
                question = data["question"]
                assert isinstance(question, dict)
                kind = question["kind"]
                answer = {"question_id": question["id"], "text": "yes"}
                assert client.post(f"/runs/{run}/answer", json=answer).status_code == 204
    assert last is not None
    assert last["answer"] == "a note"
    return kind


def test_it_is_a_model_to_clients_of_openai_until_it_ends(serve: Serve, tmp_path: Path) -> None:
    service = serve(*gated(tmp_path, "door"), "--token-env", "ALICE", **SECRETS)
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key=ALICE, max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["cortex-r"]
        stream = client.chat.completions.create(
            model="cortex-r", messages=[{"role": "user", "content": "go"}], stream=True
        )
        wait_until((tmp_path / "gates" / "pid").exists)
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "ending" in service.stderr)
        (tmp_path / "gates" / "door").touch()
        answer = "".join(piece.choices[0].delta.content or "" for piece in stream)
    assert answer == "door is open"
    assert service.process.wait(WAIT_SECONDS) == 0
    assert not session_files(tmp_path)


def test_a_rebound_name_reaches_nothing(serve: Serve, tmp_path: Path) -> None:
    client = serve(*without_servers(tmp_path)).client()
    rebound = client.post("/chat", json={"message": "go"}, headers={"Host": "evil.example"})
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert rebound.status_code == 403
    assert client.post("/chat", json={"message": "go"}, headers=foreign).status_code == 403
    assert not (tmp_path / "runs").exists()


def test_clients_that_say_nothing_do_not_shut_others_out(serve: Serve, tmp_path: Path) -> None:
    service = serve(*without_servers(tmp_path))
    url = httpx2.URL(service.url)
    assert url.port is not None
    with ExitStack() as stack:
        for _ in range(300):  # more than there are connections
            stack.enter_context(socket.create_connection((url.host, url.port)))
        assert chat(service.client())[-1][1]["answer"] == "12"
    assert service.end() == 0


def test_nonsense_is_no_bug(serve: Serve, tmp_path: Path) -> None:
    service = serve(*without_servers(tmp_path))
    url = httpx2.URL(service.url)
    assert url.port is not None
    for sent in (
        b"\x16\x03\x01\x02\x00",  # TLS
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /%00%ff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"BREW /chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ):
        with socket.create_connection((url.host, url.port), timeout=WAIT_SECONDS) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
    assert service.client().get("/health").status_code == 200
    assert service.end() == 0
    assert len(service.stderr.splitlines()) <= 4, service.stderr


def test_a_home_that_is_no_folder_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.touch()
    environ = environment(tmp_path, CORTEX_HOME=str(home))
    done = agent(tmp_path, "serve", "--port", "0", "--model", "nonsense", env=environ)
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert os.environ.get("CORTEX_HOME") != str(home)


def test_runs_of_the_service_are_traces_of_their_callers(serve: Serve) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with receiving() as received:
        service = serve("--model", "offline", OTEL_EXPORTER_OTLP_ENDPOINT=received.endpoint)
        with service.client() as client:
            client.headers["traceparent"] = f"00-{trace}-00f067aa0ba902b7-01"
            told = chat(client, "add 5 and 7")
        assert told[-1][1]["trace_id"] == trace
        assert service.end() == 0
    assert {span.trace_id.hex() for span in received.spans} == {trace}
    (call,) = received.named("execute_tool")
    assert call.name == "execute_tool math.add"
