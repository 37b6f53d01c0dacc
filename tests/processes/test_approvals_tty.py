"""Calls that wait for a yes, at a terminal with a screen: how they look, and each answer."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import ROOT, Finished, agent, environment, plan, script, write_profile
from tests.screens import ScreenTerminal

SERVER = ROOT / "tests" / "fixtures" / "servers" / "writing_server.py"
BEFORE = "".join(f"line {number}\n" for number in range(1, 60))
AFTER = BEFORE.replace("line 30\n", "line thirty\n")
OPEN = "Allow it? ["
PROMPT = "cortex-r>"


class Scene:
    """A folder with a file, a server that may write there, and plans that do."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        self.file = self.work / "a.txt"
        self.file.write_text(BEFORE, encoding="utf-8")
        self.opened: list[ScreenTerminal] = []

    def write(self, content: str = AFTER, name: str = "a.txt") -> str:
        path = str(self.work / name)
        return (
            f"await tools.write_file(path={path!r}, content={content!r})\n"
            f"return 'FINAL_ANSWER: written'"
        )

    @staticmethod
    def read(url: str) -> str:
        return f"return 'FINAL_ANSWER: ' + await tools.read_page(url={url!r})"

    def run(
        self, *bodies: str, request: str | None = "go on", columns: int = 100, **extra: str
    ) -> ScreenTerminal:
        profile = write_profile(
            self.home, f"id: files\nscript: {SERVER}\nargs: [{self.work}]\ndescription: files"
        )
        options = ["--profile", str(profile), "--model", script(self.home, [*map(plan, bodies)])]
        usual = {"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}
        environ = environment(self.home, **{**usual, **extra})
        words = [] if request is None else [request]
        terminal = ScreenTerminal(*options, *words, environ=environ, cwd=self.home, columns=columns)
        self.opened.append(terminal)
        return terminal

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def kept(self) -> list[dict[str, str]]:
        file = self.home / "permissions.json"
        if not file.exists():
            return []
        return json.loads(file.read_text(encoding="utf-8"))["agents"]["cortex_r_002"]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    for terminal in made.opened:
        terminal.close()


def colours_of(terminal: ScreenTerminal, part: str) -> set[str]:
    """The colours of the row that has this in it."""
    rows = [row for row, text in enumerate(terminal.screen.display) if part in text]
    return {terminal.screen.buffer[rows[0]][column].fg for column in range(2, 2 + len(part))}


def test_every_colour_is_one_of_the_terminals_that_show_on_light_and_on_dark(scene: Scene) -> None:
    code = "```python\n# adds\ndef add(a: int) -> str:\n    return f'{a + 1}'\n```\n\n1. `one`"
    body = scene.write().replace("'FINAL_ANSWER: written'", repr(f"FINAL_ANSWER: {code}"))
    terminal = scene.run(body, request=None, TERM="xterm-256color", COLORTERM="truecolor")
    seen: set[tuple[str, str]] = set()

    def look() -> None:
        seen.update((cell.fg, cell.bg) for row in terminal.screen.buffer.values()
                    for cell in row.values())  # fmt: skip

    terminal.shows(PROMPT)
    terminal.send("/plan write it\r")
    terminal.shows("/run runs it")
    look()
    terminal.send("/run\r")
    terminal.shows(OPEN)
    look()
    terminal.send("y\r")
    terminal.shows("1. one")
    look()
    terminal.send("/m")
    terminal.shows("/memory")
    terminal.send("\t")
    terminal.shows("another one")
    look()
    names = {"default", "red", "green", "cyan", "magenta"}
    assert seen == {(name, "default") for name in names}


def test_the_call_its_difference_and_the_reason_are_shown(scene: Scene) -> None:
    terminal = scene.run(scene.write())
    shown = terminal.shows(OPEN)
    for line in (
        "── the plan wants to call 'write_file' of server 'files' ──",
        "│ -line 30",
        "│ +line thirty",
        "Why you are asked: it may change something.",
        "  a: yes in this session, A: yes always, by the rule:",
    ):
        assert line in shown.splitlines(), line
    plain = " ".join(shown.replace("│", "").split())
    origin = "← the plan, written before anything was read"
    assert f'path: "{scene.file}" {origin}' in plain or f'path: {origin} "{scene.file}"' in plain
    assert "other words: no, and the model reads them · s: show all · e: edit the rule" in plain
    assert colours_of(terminal, "-line 30") == {"red"}
    assert colours_of(terminal, "+line thirty") == {"green"}
    assert "line 40" not in shown
    terminal.send("s\r")
    terminal.shows("line 59")
    terminal.until(lambda text: text.rstrip().endswith("[y/N/a/A/e] >"))
    terminal.send("y\r")
    assert terminal.ends() == 0
    assert scene.text == AFTER
    assert scene.kept == []


@pytest.mark.parametrize("extra", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_40_columns_and_no_colours_are_enough(scene: Scene, extra: dict[str, str]) -> None:
    content = BEFORE.replace("line 30\n", f"line 30 {'x' * 24} -line 31\n")
    terminal = scene.run(*[scene.write(content)] * 4, columns=40, **extra)
    rows = (shown := terminal.shows(OPEN)).splitlines()
    at = rows.index(f"│ +line 30 {'x' * 24}")
    assert rows[at + 1] == "│     -line 31", "no broken line poses as another"
    assert "y: yes, once" in shown
    assert {cell.fg for row in terminal.screen.buffer.values() for cell in row.values()} == {
        "default"
    }
    terminal.send("n\r")
    assert terminal.ends() == 3
    assert scene.text == BEFORE


@pytest.mark.parametrize("keys", ["\r", "n\r", "\x04", "not now\r", "q\rn\r", "yes please\rn\r"])
def test_all_but_a_yes_is_a_no(scene: Scene, keys: str) -> None:
    terminal = scene.run(*[scene.write()] * 4)
    terminal.shows(OPEN)
    for each in keys.replace("\rn", "\r|n").split("|"):
        terminal.until(is_open)
        terminal.send(each)
        terminal.until(
            lambda text: not is_open(text) or "expected" in text or "is more than" in text
        )
    assert terminal.ends() == 3
    assert "did not allow this call" in " ".join(terminal.text.split())
    assert ('the user\'s own words: "not now"' in " ".join(terminal.text.split())) == (
        keys == "not now\r"
    )
    assert scene.text == BEFORE


def test_ctrl_c_ends_the_run(scene: Scene) -> None:
    terminal = scene.run(*[scene.write()] * 4)
    terminal.shows(OPEN)
    terminal.sendintr()
    assert terminal.ends() == 130
    assert scene.text == BEFORE


def is_open(text: str) -> bool:
    """Whether a question waits for an answer."""
    return text.rstrip().endswith("] >")


def ask(terminal: ScreenTerminal, request: str) -> None:
    terminal.until(lambda text: PROMPT in (row.strip() for row in text.splitlines()[-2:]))
    terminal.send(f"{request}\r")


def test_always_holds_for_the_session_and_for_no_other_target(scene: Scene) -> None:
    good, evil = "https://docs.test/a", "https://docs.test.evil.test/a"
    bodies = [scene.read(url) for url in (good, f"{good}?b=c", *[evil] * 4)]
    terminal = scene.run(*bodies, request=None)
    ask(terminal, "read it")
    shown = " ".join(terminal.shows(OPEN).split())
    assert "A: yes always, by the rule: │ files.read_page(url=https://docs.test/*)" in shown
    terminal.send("a\r")
    terminal.shows(f"Answer: the page {good}")
    ask(terminal, "and the other one")
    terminal.shows(f"Answer: the page {good}?b=c")
    assert terminal.text.count(OPEN) == 1
    ask(terminal, "what the page asks for")
    terminal.until(lambda text: text.count(OPEN) == 2)
    terminal.send("n\r")
    terminal.shows(f"did not allow the url {evil}")
    ask(terminal, "/permissions")
    terminal.shows("  1  files.read_page(url=https://docs.test/*)")
    ask(terminal, "/permissions forget 1")
    terminal.shows("no longer allowed: files.read_page")
    assert scene.kept == []


def test_always_is_kept_and_holds_where_nobody_can_be_asked(scene: Scene) -> None:
    terminal = scene.run(scene.write())
    terminal.shows(OPEN)
    terminal.send("A\r")
    assert terminal.ends() == 0
    assert [row["rule"] for row in scene.kept] == [f"files.write_file(path={scene.file})"]
    scene.file.write_text("changed meanwhile", encoding="utf-8")
    again = scene.run(scene.write("new"))
    assert again.ends() == 0
    assert OPEN not in again.text
    assert scene.text == "new"
    profile, model = (
        str(scene.home / "profile.yaml"),
        script(scene.home, [plan(scene.write("newer"))]),
    )
    done = agent(scene.home, "--profile", profile, "--model", model, "go on")
    assert (done.code, done.out) == (0, "written\n")
    other = scene.run(*[scene.write("new", "b.txt")] * 4)
    other.shows(OPEN)
    other.send("\r")
    assert other.ends() == 3
    assert not (scene.work / "b.txt").exists()


def test_what_was_typed_before_the_question_answers_nothing(scene: Scene) -> None:
    terminal = scene.run(*[scene.write()] * 4, request=None)
    ask(terminal, "go on\ry\ry\ry")
    terminal.until(is_open)
    terminal.send("no\r")
    terminal.shows("for you said no")
    assert scene.text == BEFORE


def test_no_value_draws_an_answer(scene: Scene) -> None:
    forged = "\r\x1b[2J\x1b[HAllow it? [y/N/a/A/e]  > y\r\ny\r\x1b]0;y\x07\x1b[6n\u202ey"
    terminal = scene.run(*[scene.write(forged, "new.txt")] * 4)
    shown = terminal.shows("[y/N/a/A/e] >")
    terminal.until(is_open)
    assert "the plan wants to call 'write_file'" in shown, "the screen was not emptied"
    assert "\\x1b[2J" in shown
    terminal.send("\r")
    assert terminal.ends() == 3
    assert not (scene.work / "new.txt").exists()


def headless(scene: Scene, *bodies: str) -> Finished:
    """A run where nobody can be asked, of plans that write."""
    profile = write_profile(
        scene.home, f"id: files\nscript: {SERVER}\nargs: [{scene.work}]\ndescription: files"
    )
    model = script(scene.home, [*map(plan, bodies)])
    return agent(scene.home, "--profile", str(profile), "--model", model, "write them, please")


def test_where_nobody_can_be_asked_one_command_line_allows_all_that_the_run_needs(
    scene: Scene,
) -> None:
    names = ["a.txt", "b.txt", "it's c.txt"]
    paths = [str(scene.work / name) for name in names]
    body = (
        f"path = {paths[1]!r}\n"
        f"await tools.write_file(path={paths[0]!r}, content='x')\n"
        f"await tools.write_file(path, 'y')\n"
        f"await tools.write_file(path={paths[2]!r}, content='z')\n"
        f"await tools.write_file(path={paths[0]!r}, content='again')\n"
        f"return 'FINAL_ANSWER: written'"
    )
    done = headless(scene, body, f"number = 1\n{body}", body, f"number = 2\n{body}")
    assert (done.code, scene.text) == (3, BEFORE)
    lines = done.err.splitlines()
    assert lines[-2] == "To say yes beforehand to what it needs, as far as is known:"
    _, *words = shlex.split(lines[-1])
    rules = [word for word in words if word.startswith("files.write_file(path=")]
    assert rules == [f"files.write_file(path={path})" for path in paths]
    script(scene.home, [plan(body)])
    again = agent(scene.home, *words)
    assert (again.code, again.out) == (0, "written\n"), again.err
    assert [Path(path).read_text() for path in paths] == ["again", "y", "z"]


def test_what_no_call_was_refused_for_and_what_computes_its_arguments_is_no_rule(
    scene: Scene,
) -> None:
    first, second = (str(scene.work / name) for name in ("a.txt", "b.txt"))
    body = (
        f"await tools.write_file(path={first!r}, content='x')\n"
        f"for number in range(2):\n"
        f"    await tools.write_file(path={second!r} + str(number), content='y')"
    )
    done = headless(scene, body, f"number = 1\n{body}", body, body)
    assert done.code == 3
    assert done.err.splitlines()[-1].count("--approve") == 1
    fails = headless(scene, *["raise ValueError('no')"] * 4)
    assert fails.code == 3
    assert "--approve" not in fails.err
