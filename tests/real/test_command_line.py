"""The whole program with servers that others made: profile, plan, call, answer, clean end."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from config.servers import ServerSpec
from tests.command_line import ROOT, agent, environment, plan, script, write_profile
from tests.real.parts import npm_server, python_server


def entry(spec: ServerSpec) -> str:
    """A server as it stands in a profile; JSON strings are YAML."""
    command, *args = spec.command
    listed = "".join(f"\n  - {argument}" for argument in args)
    env = "".join(f"\n  {name}: {value}" for name, value in spec.env.items())
    text = f"id: {spec.id}\ncommand: {command}\ndescription: someone else's"
    return f"{text}\nargs:{listed or ' []'}" + (f"\nenv:{env}" if env else "")


def processes_with(home: Path) -> list[int]:
    """The processes whose environment names this home: the run's own, its servers, their children.

    A server's `HOME` comes from ours, which no other run shares.
    """
    mark = f"HOME={home}\0".encode()
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:  # it has just ended, or is another user's
                continue
    return found


def assert_all_end(home: Path, *, within_seconds: float) -> None:
    """All processes of a run that has ended are gone, or go in this time."""
    began = time.monotonic()
    while left := processes_with(home):
        assert time.monotonic() - began < within_seconds, f"outlived the agent: {left}"


def test_a_plan_calls_two_servers_of_others_and_no_process_is_left(tmp_path: Path) -> None:
    note = tmp_path / "notes" / "note.txt"
    note.parent.mkdir()
    profile = write_profile(
        tmp_path,
        entry(npm_server("filesystem", str(note.parent))),
        entry(npm_server("everything")),
    )
    body = f"""said = await tools.echo(message="from afar")
await tools.write_file(path={str(note)!r}, content=said)
read = await tools.read_text_file(path={str(note)!r})
return f"FINAL_ANSWER: {{read}}\""""
    model = script(tmp_path, [plan(body)])
    options = ("--approve", "filesystem.write_file")
    done = agent(tmp_path, "--profile", str(profile), "--model", model, *options, "note it")
    assert (done.code, done.out) == (0, "Echo: from afar\n")
    assert note.read_text() == "Echo: from afar"
    assert "Traceback" not in done.err
    assert_all_end(tmp_path, within_seconds=2)


def test_a_python_server_of_others_answers_the_plan(tmp_path: Path) -> None:
    profile = write_profile(tmp_path, entry(python_server("time", "--local-timezone", "UTC")))
    body = """x = await tools.convert_time(
    source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")
return f"FINAL_ANSWER: {x['time_difference']}\""""
    model = script(tmp_path, [plan(body)])
    done = agent(tmp_path, "--profile", str(profile), "--model", model, "when?")
    assert (done.code, done.out) == (0, "+9.0h\n")
    assert_all_end(tmp_path, within_seconds=2)


def test_a_tools_refusal_is_told_to_the_model_which_then_does_better(tmp_path: Path) -> None:
    profile = write_profile(tmp_path, entry(npm_server("filesystem", str(tmp_path))))
    replies = [
        plan('x = await tools.read_text_file(path="/etc/passwd")\nreturn f"FINAL_ANSWER: {x}"'),
        plan('return "FINAL_ANSWER: not allowed"'),
    ]
    model = script(tmp_path, replies)
    done = agent(tmp_path, "--profile", str(profile), "--model", model, "read it")
    assert (done.code, done.out) == (0, "not allowed\n")
    assert "Access denied" in done.err
    assert_all_end(tmp_path, within_seconds=2)


@pytest.mark.skipif(sys.platform != "linux", reason="a parent-death signal is Linux's own")
def test_servers_end_with_an_agent_that_is_killed(tmp_path: Path) -> None:
    profile = write_profile(tmp_path, entry(npm_server("everything")))
    body = "return await tools.trigger_long_running_operation(duration=60, steps=60)"
    options = ["--profile", str(profile), "--model", script(tmp_path, [plan(body)] * 2)]
    process = subprocess.Popen(
        [sys.executable, ROOT / "agent.py", "--verbose", *options, "wait"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "calls everything." in line:
            break
    assert len(processes_with(tmp_path)) > 1
    process.kill()
    process.communicate(timeout=20)
    assert_all_end(tmp_path, within_seconds=10)
