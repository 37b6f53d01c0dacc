"""What a run leaves on the disk: for this user alone, and without secrets."""

import base64
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from tests.command_line import agent, environment, plan, script, write_profile
from tests.modules.cli.by_hand import SERVERS

KEY = "k\"e'y\\of/ours 123"
"""Each writer escapes it in its own way."""

FORMS = (
    KEY,
    json.dumps(KEY)[1:-1],
    json.dumps(json.dumps(KEY)[1:-1])[1:-1],
    repr(KEY)[1:-1],
    quote(KEY),
    base64.b64encode(KEY.encode()).decode(),
)


def written(home: Path) -> Iterator[Path]:
    """All that the run has made under its home."""
    ours = {"profile.yaml", "script.json"}
    return (path for path in home.rglob("*") if path.name not in ours)


def test_a_key_that_a_server_tells_everybody_stands_nowhere_on_the_disk(tmp_path: Path) -> None:
    leaking = (
        f"id: leaking\nscript: {SERVERS / 'leaking_server.py'}\n"
        "env: {LEAKED_API_KEY: '${LEAKED_API_KEY}'}"
    )
    body = "said = await tools.leak()\nprint(said)\nreturn f'FINAL_ANSWER: {said}'"
    done = agent(
        tmp_path,
        *("--verbose", "--profile", str(write_profile(tmp_path, leaking))),
        *("--model", script(tmp_path, [plan(body)]), "tell me"),
        env=environment(tmp_path, LEAKED_API_KEY=KEY),
    )
    assert done.code == 0, done.err
    assert "[redacted LEAKED_API_KEY]" in done.err
    texts = {path: path.read_text(encoding="utf-8") for path in written(tmp_path) if path.is_file()}
    assert {"leaking.log", "tool_pins.json"} <= {path.name for path in texts}
    assert {"cache", "memory", "logs"} <= {path.relative_to(tmp_path).parts[0] for path in texts}
    for where, text in {**texts, Path("stderr"): done.err}.items():
        for form in FORMS:
            assert form not in text, where
        if where.name != "history":
            assert "[redacted LEAKED_API_KEY]" in text, where


def test_what_is_written_is_for_this_user_alone(tmp_path: Path) -> None:
    leaking = f"id: leaking\nscript: {SERVERS / 'leaking_server.py'}\nenv: {{LEAKED_API_KEY: abc}}"
    options = ["--profile", str(write_profile(tmp_path, leaking))]
    model = script(tmp_path, [plan("await tools.leak()\nreturn 'FINAL_ANSWER: done'")])
    home = tmp_path / "home"
    env = environment(tmp_path, CORTEX_HOME=str(home))
    assert agent(tmp_path, *options, "--model", model, "tell me", env=env).code == 0
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    assert {path.relative_to(home).parts[0] for path in found if path != home} >= {
        *("cache", "memory", "logs", "tool_pins.json"),
    }
    open_to_others = {str(path): oct(mode) for path, mode in found.items() if mode & 0o077}
    assert open_to_others == {}
