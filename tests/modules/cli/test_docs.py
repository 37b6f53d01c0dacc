"""`agent.py docs` and `/docs`: what is said, and what is run for it."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from config.dotenv import Environment
from config.schema import AgentProfile, load_profile
from config.settings import ROOT, Places, SettingsError
from core.errors import ExitCode
from modules.cli.command_line import parse_command
from modules.cli.docs import (
    PROGRAM,
    child_environment,
    manage_at_prompt,
    manage_documents,
    task_of,
)
from modules.cli.doctor_configuration import documents_checks
from servers.rag.command import read_task
from tests.command_line import write_profile
from tests.modules.cli.by_hand import prepared

BOUND_SECONDS = 20


class Replaced(Exception):
    """Another program would be here now."""


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("docs add a.md b", {"paths": [Path("a.md"), Path("b")]}),
        ("docs add -- -odd.md", {"paths": [Path("-odd.md")]}),
        ("docs list --json", {"json": True}),
        ("docs status --verbose", {"verbose": True}),
        ("docs reindex --quiet", {"quiet": True}),
        ("docs remove a.md", {"file": "a.md"}),
        ("docs remove --yes a.md", {"file": "a.md", "yes": True}),
        ("docs watch", {}),
        (
            "docs search notice period -k 3 --file a.md --mode words",
            {"query": ["notice", "period"], "top_k": 3, "file": "a.md", "mode": "words"},
        ),
    ],
)
def test_the_program_reads_what_a_command_line_says(line: str, meant: dict[str, object]) -> None:
    words = line.split()
    read = vars(read_task(task_of(parse_command(words))))
    plain = vars(read_task(json.dumps({"action": words[1]})))
    assert read == {**plain, **meant}


def test_the_program_takes_the_place_of_this_one_with_the_section_in_its_environment(
    tmp_path: Path,
) -> None:
    profile = write_profile(tmp_path)
    profile.write_text(profile.read_text() + "documents: {folders: [mine], watch: false}\n")
    started: list[tuple[Sequence[str], Mapping[str, str]]] = []

    def replace(program: str, words: list[str], environ: Mapping[str, str]) -> NoReturn:
        started.append((words, environ))
        raise Replaced

    words = ["docs", "list", "--json", "--profile", str(profile)]
    environ = {"PATH": "/bin", "GEMINI_API_KEY": "sekret", "GOOGLE_API_KEY": "sekret"}
    environ["BRAVE_API_KEY"] = "its-own"
    with pytest.raises(Replaced):
        manage_documents(prepared(tmp_path, environ, *words), replace)
    (_, program, task), told = started[0]
    assert program == str(ROOT / PROGRAM)
    assert read_task(task).action == "list"
    assert told["PATH"] == "/bin"
    assert "sekret" not in told.values()
    section = json.loads(told["CORTEX_DOCUMENTS"])
    assert section["folders"] == [str(tmp_path / "mine")]
    assert section["watch"] is False
    assert json.loads(told["CORTEX_WEB"]) == {}
    profile.write_text("agent: 1")
    with pytest.raises(SettingsError):
        manage_documents(prepared(tmp_path, environ, *words), replace)


def prompt(
    tmp_path: Path, program: str
) -> tuple[Callable[[str], Coroutine[object, object, ExitCode]], list[str]]:
    """`/docs`, with a program of these lines, and what is said."""
    path = tmp_path / "program.py"
    path.write_text(program)
    said: list[str] = []
    profile = load_profile(write_profile(tmp_path))

    async def run(text: str) -> ExitCode:
        places = Places(ROOT, tmp_path)
        return await manage_at_prompt(
            text, profile, places, {}, lambda _, told: said.append(told), path
        )

    return run, said


async def test_at_the_prompt_it_is_a_child_whose_words_are_told(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "print('[docs]', sys.argv[1:], 'CORTEX_DOCUMENTS' in os.environ)\n"
        "sys.exit(3)\n"
    )
    run, said = prompt(tmp_path, program)
    async with asyncio.timeout(BOUND_SECONDS):
        assert await run("search 'notice period' -k 2") == ExitCode.NO_ANSWER
    (told,) = said
    assert told.startswith('[\'--tied\', \'{"action": "search", ')
    assert '"query": ["notice period"], "top_k": 2' in told
    assert told.endswith("True")


async def test_rows_at_the_prompt_stand_below_their_stage_and_so_in_columns(tmp_path: Path) -> None:
    run, said = prompt(tmp_path, "print('folder  a'); print('index   b')")
    async with asyncio.timeout(BOUND_SECONDS):
        await run("status")
    assert said == ["\nfolder  a\nindex   b"]


async def test_a_mistake_at_the_prompt_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, said = prompt(tmp_path, "raise SystemExit(0)")
    for words in ("add 'open", "watch", "find x", "search"):
        assert await run(words) == ExitCode.BAD_USAGE
    assert len(said) == 4
    assert "invalid choice: 'find'" in said[2]
    assert said[3].endswith("required: WORDS; see /help docs")
    assert capsys.readouterr().err == ""


async def test_a_child_that_is_cancelled_is_gone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"import os, sys\nopen({str(pipe)!r}, 'w').write(str(os.getpid()))\nsys.stdin.read()"
    run, _ = prompt(tmp_path, program)
    task = asyncio.create_task(run("reindex"))
    child = int(await asyncio.to_thread(pipe.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_the_doctor_tells_of_folders_index_and_a_key_that_is_lacking(tmp_path: Path) -> None:
    def told(section: Mapping[str, object], environ: Mapping[str, str]) -> list[tuple[str, str]]:
        document = {"agent": {"name": "T", "id": "t"}, "documents": section}
        profile = AgentProfile.model_validate(document)
        checks = documents_checks(profile, Places(ROOT, tmp_path), environ)
        return [(check.name, check.state) for check in checks]

    assert told({}, {}) == [("folder", "note"), ("index", "ok")]
    (tmp_path / "documents").mkdir()
    (tmp_path / "faiss_index").mkdir()
    assert told({}, {}) == [("folder", "ok"), ("index", "ok")]
    (tmp_path / "file").touch()
    gemini = {"folders": ["file"], "embedder": "gemini:x"}
    assert told(gemini, {})[0::2] == [("folder", "missing"), ("Gemini", "missing")]
    assert told(gemini, {"GEMINI_API_KEY": "k"})[-1] == ("index", "ok")


def test_the_program_of_the_documents_inherits_nothing_of_the_env_file(tmp_path: Path) -> None:
    said = {"TOKEN_OF_MINE": "t", "GEMINI_API_KEY": "k" * 20}
    profile = load_profile(write_profile(tmp_path))
    environ = Environment({"PATH": "/bin"}, tmp_path / ".env", said)
    started = child_environment(profile, Places(ROOT, tmp_path), environ)
    assert started["PATH"] == "/bin"
    assert "TOKEN_OF_MINE" not in started
