"""Which servers are started before anything else is known, and that nothing goes wrong by it."""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.schema import AgentProfile, load_profile
from config.server_list import server_list
from config.servers import ServerSpec
from config.settings import ROOT, Places
from core.dispatch.prespawn import likely_servers, prespawn
from core.dispatch.start_failures import StartFailures
from core.process.server import SpawnedServer, terminate

HERE = Path()
MATH = ServerSpec(
    "math",
    ("cat",),
    HERE,
    description="Arithmetic: factorial, sum of exponentials",
    capabilities=("add", "strings_to_chars_to_int"),
)
DOCUMENTS = ServerSpec("documents", ("cat",), HERE, description="Searches the stored documents")
WEB = ServerSpec("web", ("cat",), HERE, description="", capabilities=("download_raw_html",))
RARE = ServerSpec("rare", ("cat",), HERE, description="factorial", connection="per_call")


def likely(request: str, *specs: ServerSpec) -> list[str]:
    return [spec.id for spec in likely_servers(request, specs)]


@pytest.mark.parametrize(
    ("request_text", "servers"),
    [
        ("Factorial of 5", ["math"]),
        ("sum their exponential", ["math"]),
        ("the characters of INDIA as int", ["math"]),
        ("search my documents for factorial", ["math", "documents"]),
        ("Download example.com", ["web"]),
        ("what is the weather and where", []),
        ("what and the for with", []),
        ("2 + 2", []),
        ("", []),
        ("漢字 \x00 🎉", []),
    ],
)
def test_a_server_is_likely_that_shares_a_word_with_the_request(
    request_text: str, servers: list[str]
) -> None:
    assert likely(request_text, MATH, DOCUMENTS, WEB) == servers


def test_a_server_that_shares_only_a_part_of_anothers_words_is_left_out() -> None:
    books = replace(DOCUMENTS, id="books", description="Searches books")
    assert likely("search my documents", DOCUMENTS, books) == ["documents"]
    assert likely("search", DOCUMENTS, books) == ["documents", "books"]
    assert likely("search books and documents", DOCUMENTS, books) == ["documents", "books"]
    assert likely("search my documents", replace(DOCUMENTS, start="eager"), books) == ["documents"]
    assert likely("search my documents", DOCUMENTS, replace(books, start="eager")) == [
        "documents",
        "books",
    ]


def test_a_single_server_is_always_likely() -> None:
    assert likely("漢字", MATH) == ["math"]


def test_a_server_for_single_calls_is_never_started_early() -> None:
    assert likely("factorial", RARE) == []
    assert likely("factorial", RARE, MATH) == ["math"]
    assert likely("漢字", RARE, MATH) == []


@pytest.mark.parametrize(
    "change",
    [{"problem": "X is not set"}, {"url": "https://example.com/mcp", "command": ()}],
    ids=["a problem", "a URL"],
)
def test_what_is_no_program_or_has_a_problem_is_never_started_early(
    change: dict[str, Any],
) -> None:
    assert likely("factorial", replace(MATH, **change)) == []
    assert likely("factorial", replace(MATH, **change), DOCUMENTS, WEB) == []


def test_a_server_that_is_to_start_eagerly_is_always_likely() -> None:
    assert likely("漢字", MATH, replace(WEB, start="eager")) == ["web"]


def test_no_servers_are_no_trouble() -> None:
    assert likely("anything") == []


@pytest.mark.parametrize(
    ("request_text", "servers"),
    [
        ("Find the ASCII values of characters in INDIA and sum their exponentials", ["math"]),
        ("factorial of 5 divided by factorial of 3", ["math"]),
        ("the compound interest of 1000 at 5% and the sum", ["math"]),
        ("search my documents for the notice period", ["documents"]),
        ("search the web for tide tables", ["websearch"]),
        ("look up the tide tables online", ["websearch"]),
        ("what does https://example.com/tides say about spring?", ["websearch"]),
        ("search the web for the factorial", ["math", "websearch"]),
    ],
)
def test_of_the_shipped_servers_those_start_that_the_request_needs(
    request_text: str, servers: list[str]
) -> None:
    profile = load_profile(ROOT / "config" / "profiles.yaml")
    specs = [server.spec(ROOT, ROOT / "config") for server in profile.mcp_servers]
    assert likely(request_text, *specs) == servers


def configured(
    folder: Path, entries: Sequence[Mapping[str, object]], *mcp_files: Path
) -> Sequence[ServerSpec]:
    """The servers of a profile with these entries, and of the files beside it."""
    profile = AgentProfile.model_validate(
        {"agent": {"name": "A", "id": "a"}, "mcp_servers": entries}
    )
    places, file = Places(folder, folder), folder / "profiles.yaml"
    return server_list(profile, places, file, mcp_files, {}).specs


@contextmanager
def spawned(
    entries: Sequence[Mapping[str, object]], folder: Path, *mcp_files: Path
) -> Generator[dict[str, SpawnedServer]]:
    """What a profile starts for a request about factorials; ended afterwards."""
    started = prespawn("factorial", configured(folder, entries, *mcp_files), folder / "logs")
    try:
        yield started
    finally:
        for server in started.values():
            terminate(server)


def entry(server_id: str, **more: object) -> dict[str, object]:
    """A server that echoes until its stdin closes."""
    return {"id": server_id, "command": "cat", "description": "factorial", **more}


def test_likely_servers_run_and_their_errors_go_to_the_log(tmp_path: Path) -> None:
    program = "import sys; sys.stderr.write('hello'); sys.stdin.read()"
    python = {"command": sys.executable, "args": ["-c", program]}
    entries = [entry("one"), entry("two", **python), entry("other", description="weather")]
    with spawned(entries, tmp_path) as started:
        assert list(started) == ["one", "two"]
        assert all(server.process.poll() is None for server in started.values())
    assert all(server.process.returncode == 0 for server in started.values())
    assert (tmp_path / "logs" / "two.log").read_text(encoding="utf-8") == "hello"


def test_a_server_that_failed_lately_is_left_alone(tmp_path: Path) -> None:
    specs = configured(tmp_path, [entry("bad"), entry("good")])
    failures = StartFailures(tmp_path / "failures.json")
    failures.add(specs[0])
    started = prespawn("factorial", specs, tmp_path / "logs", failures)
    assert list(started) == ["good"]
    terminate(started["good"])


def test_servers_that_are_switched_off_or_lack_a_variable_are_left_alone(tmp_path: Path) -> None:
    entries = [entry("off", disabled=True), entry("unset", env={"A": "${NOT_SET}"}), entry("on")]
    with spawned(entries, tmp_path) as started:
        assert list(started) == ["on"]


def test_servers_of_other_files_are_started_early_too(tmp_path: Path) -> None:
    server = {"command": "cat", "description": "factorial"}
    mine = tmp_path / "config" / "mcp.json"
    mine.parent.mkdir()
    mine.write_text(json.dumps({"mcpServers": {"mine": server}}), encoding="utf-8")
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"servers": {"given": server}}), encoding="utf-8")
    with spawned([entry("own")], tmp_path, given) as started:
        assert list(started) == ["own", "mine", "given"]


def test_a_server_that_cannot_start_is_left_for_later(tmp_path: Path) -> None:
    entries = [entry("gone", command="/no/such/program"), entry("lost", cwd="/nowhere")]
    entries += [{"id": "none", "script": "none.py", "description": "factorial"}, entry("good")]
    with spawned(entries, tmp_path) as started:
        assert list(started) == ["good"]


@pytest.mark.parametrize("odd", ["~nobody-here/x", "x" * 5000, "a\0b"])
def test_paths_that_no_system_takes_start_nothing(tmp_path: Path, odd: str) -> None:
    entries = [entry("a", script=odd), entry("b", cwd=odd), entry("good")]
    with spawned(entries, tmp_path) as started:
        assert "b" not in started
        assert "good" in started


def test_what_is_imported_before_servers_are_spawned_is_light() -> None:
    heavy = {"mcp", "jsonschema_rs", "wasmtime", "core.loop", "modules.cli.interaction"}
    code = f"import sys, modules.app\nprint({heavy} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
