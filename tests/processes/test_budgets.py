"""Budgets as a user meets them: refused with 3, nothing asked, kept over restarts and kills."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from modules.models.serving.ledger import LEDGER_FILE, Ledger, Spent
from tests.command_line import (
    ROOT,
    SUMS_SERVER,
    Finished,
    agent,
    environment,
    plan,
    script,
    session_files,
    write_profile,
)
from tests.modules.cli.by_hand import entry
from tests.modules.models.http.chat_server import model_server, streams, text
from tests.modules.models.service import pieces

SAYS_12 = plan('return "FINAL_ANSWER: 12"')
ADDS = "await tools.add(a={}, b=7)"


def with_budgets(home: Path, budgets: str, *servers: str) -> list[str]:
    """Options for a profile with these budgets."""
    profile = write_profile(home, *servers)
    profile.write_text(f"{profile.read_text()}budgets: {{{budgets}}}\n", encoding="utf-8")
    return ["--profile", str(profile)]


def reply(text: str, tokens: int = 0, cost: float = 0.0) -> dict[str, object]:
    return {"text": text, "usage": {"input_tokens": tokens, "cost": cost}}


def asked(home: Path, replies: Sequence[object], *options: str, request: str = "hm?") -> Finished:
    return agent(home, "--model", script(home, replies), *options, request)


def result(done: Finished) -> dict[str, Any]:
    return json.loads(done.out.splitlines()[-1])


def ledger(home: Path) -> Spent:
    """What the user has spent, by the file."""
    return Ledger(home / LEDGER_FILE).read({"user": ""})["user"]


def test_a_day_that_is_used_up_by_the_second_run_refuses_the_third(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "day: {tokens: 10000}")
    for _ in range(2):
        done = asked(tmp_path, [reply(SAYS_12, 6_000)], *options)
        assert (done.code, done.out) == (0, "12\n")
    for more in ((), ("--no-memory",)):
        refused = asked(tmp_path, [SAYS_12], *options, *more)
        assert (refused.code, refused.out) == (3, "")
        assert "today's budget is spent: 12,000 of 10,000 tokens" in refused.err
        assert "budgets.day.tokens" in refused.err
        assert "replies left over: 1" in refused.err, "no model was asked"
    assert len(session_files(tmp_path)) == 2
    assert asked(tmp_path, [], *options, request="help").code == 0
    told = result(asked(tmp_path, [SAYS_12], *options, "--json"))
    assert (told["status"], told["exit_code"], told["steps"]) == ("no_answer", 3, [])
    assert told["budget"] == {
        "scope": "day",
        "measure": "tokens",
        "spent": 12_000,
        "limit": 10_000,
        "key": "budgets.day.tokens",
        "is_before": True,
    }
    stats = agent(tmp_path, "stats", *options)
    assert "budgets.day.tokens  12,000 of 10,000 tokens" in stats.out
    more = with_budgets(tmp_path, "day: {tokens: 100000}")
    assert asked(tmp_path, [SAYS_12], *more).code == 0


def test_a_run_that_uses_up_the_rest_ends_amid_with_what_there_is(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "user: {cost: 0.5}", SUMS_SERVER)
    reads = plan(f"return f'FURTHER_PROCESSING_REQUIRED: {{{ADDS.format(5)}}}'")
    done = asked(tmp_path, [reply(reads, 9, 0.75), SAYS_12], *options, "--json")
    told = result(done)
    assert (done.code, told["status"], told["answer"]) == (3, "no_answer", None)
    assert "the user's budget is spent: $0.75 of $0.5" in told["message"]
    assert "math.add gave 12" in told["message"]
    assert (told["budget"]["scope"], told["budget"]["is_before"]) == ("user", False)


def test_the_limits_of_the_command_line_are_told_as_budgets_of_the_run(tmp_path: Path) -> None:
    options = ["--profile", str(write_profile(tmp_path)), "--max-tokens", "5000", "--json"]
    fails = plan('raise ValueError("no")')
    told = result(asked(tmp_path, [reply(fails, 6_000), SAYS_12], *options))
    assert (told["budget"]["scope"], told["budget"]["key"]) == ("run", "llm.max_tokens")
    assert not (tmp_path / LEDGER_FILE).exists()


def test_a_request_that_would_pass_the_limit_by_its_prompt_alone_is_not_sent(
    tmp_path: Path,
) -> None:
    options = ["--profile", str(write_profile(tmp_path)), "--max-tokens", "100", "--json"]
    done = asked(tmp_path, [reply(SAYS_12, 3_000)], *options)
    told = result(done)
    assert (done.code, told["usage"]["model_calls"]) == (3, 0)
    assert "stopped before its next request, which has about 1," in told["message"]
    assert "it has used 0 of the 100 that are allowed; allow more with --max" in told["message"]
    assert told["budget"]["limit"] == 100
    assert "replies left over: 1" in done.err, "no model was asked"


def test_a_conversation_has_its_own(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "conversation: {tokens: 5000}")
    for name, code in (("notes", 0), ("notes", 3), ("others", 0)):
        done = asked(tmp_path, [reply(SAYS_12, 6_000)], *options, "--session", name)
        assert done.code == code
    assert "begin another conversation" in asked(tmp_path, [], *options, "--session", "notes").err


def test_calls_beyond_the_budget_are_not_sent_and_the_run_ends(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "day: {calls: 3}", SUMS_SERVER)
    calls = "\n".join(ADDS.format(number) for number in range(5))
    told = result(asked(tmp_path, [plan(calls), SAYS_12], *options, "--json"))
    assert (told["exit_code"], told["budget"]["measure"]) == (3, "calls")
    sent = [call for step in told["steps"] for call in step["calls"]]
    assert [call["refused"] for call in sent] == [False, False, False, True]
    assert ledger(tmp_path).calls == 3


def test_a_run_ends_when_its_time_is_over(tmp_path: Path) -> None:
    server = entry("typed", str(tmp_path / "pid"))
    options = with_budgets(tmp_path, "run: {seconds: 1}", server)
    hangs = [plan("await tools.hang()")]
    done = asked(tmp_path, hangs, *options, "--approve", "typed.hang", "--json")
    told = result(done)
    assert (done.code, told["status"], told["budget"]["measure"]) == (3, "no_answer", "seconds")
    assert "of 1 s; allow more with budgets.run.seconds" in done.err


def test_what_a_killed_run_had_spent_counts(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "day: {tokens: 8000}")
    fails = plan('raise ValueError("no")')
    slow = {"text": SAYS_12, "after": 60}
    model = script(tmp_path, [reply(fails, 4_000), slow])
    with subprocess.Popen(
        [
            *(sys.executable, str(ROOT / "agent.py"), *options, "--model", model),
            *("--output-format", "stream-json", "hm?"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(tmp_path),
        text=True,
    ) as running:
        assert running.stdout is not None
        assert any(json.loads(line)["type"] == "retrying" for line in running.stdout)
        running.kill()
    assert ledger(tmp_path).tokens == 4_000
    assert ledger(tmp_path).seconds > 0
    assert asked(tmp_path, [reply(SAYS_12, 6_000)], *options).code == 0
    assert asked(tmp_path, [SAYS_12], *options).code == 3


def test_of_two_processes_at_once_the_calls_are_counted_together(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "day: {calls: 6}", SUMS_SERVER)
    calls = "\n".join(ADDS.format(number) for number in range(5))
    model = script(tmp_path, [plan(f"{calls}\nreturn 'FINAL_ANSWER: all'")])
    command = [sys.executable, str(ROOT / "agent.py"), *options, "--model", model, "hm?"]
    env = environment(tmp_path)
    running = [
        subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for each in running:
        each.communicate(timeout=60)
    assert sorted(each.returncode for each in running) in ([0, 3], [3, 3])
    assert ledger(tmp_path).calls == 6


def test_a_ledger_that_cannot_be_read_is_told_and_nothing_is_asked(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "day: {tokens: 10000}")
    (tmp_path / LEDGER_FILE).write_text("tokens: none, honestly\n" * 100)
    done = asked(tmp_path, [SAYS_12], *options)
    assert (done.code, done.out) == (1, "")
    assert f"what was spent can't be read from {tmp_path / LEDGER_FILE}" in done.err
    assert "replies left over: 1" in done.err
    stats = agent(tmp_path, "stats", *options)
    assert (stats.code, "can't be read" in stats.err) == (0, True)


def test_without_budgets_nothing_is_written(tmp_path: Path) -> None:
    options = ["--profile", str(write_profile(tmp_path))]
    assert asked(tmp_path, [reply(SAYS_12, 6_000)], *options).code == 0
    assert not (tmp_path / LEDGER_FILE).exists()


def test_lines_of_a_pipe_share_the_budget_and_each_has_its_line(tmp_path: Path) -> None:
    options = with_budgets(tmp_path, "day: {tokens: 10000}")
    model = script(tmp_path, [reply(SAYS_12, 5_000)] * 2)
    done = agent(tmp_path, *options, "--model", model, stdin=b"one\ntwo\nthree\n/compact\n")
    assert done.code == 3
    first, second, third, notes = done.out.splitlines()
    assert (first, second) == ("12", "12")
    assert third.startswith("[No answer: today's budget is spent: 10,000 of 10,000 tokens")
    assert notes.startswith("[today's budget is spent: 10,000 of 10,000 tokens"), (
        "nor beside requests"
    )


def uncounted(base_url: str, home: Path, max_tokens: int) -> list[str]:
    """Options for a run with a played model, whose service tells no tokens."""
    (home / "config").mkdir(exist_ok=True)
    model = {
        "type": "openai",
        "model": "m",
        "base_url": base_url,
        "price": {"input": 0, "output": 0},
    }
    models = {"models": {"played": model}}
    (home / "config" / "models.json").write_text(json.dumps(models), encoding="utf-8")
    profile = str(write_profile(home, strategy="perception: never"))
    return ["--profile", profile, "--model", "played", "--max-tokens", str(max_tokens), "--json"]


async def test_tokens_that_no_service_counts_are_held_to_the_limit_all_the_same(
    tmp_path: Path,
) -> None:
    fails = plan(f'number = "{"seven " * 400}"\nraise ValueError(str(len(number)))')
    async with model_server(streams(*text(fails))) as server:
        options = uncounted(server.url, tmp_path, 100)
        told = result(await asyncio.to_thread(agent, tmp_path, *options, "hm?"))
        assert (told["exit_code"], server.bodies) == (3, [])
        assert "--max-tokens" in told["message"]
        options = uncounted(server.url, tmp_path, 4_000)
        told = result(await asyncio.to_thread(agent, tmp_path, *options, "hm?"))
    assert (told["exit_code"], told["budget"]["measure"]) == (3, "tokens")
    assert len(server.bodies) == told["usage"]["model_calls"] == told["usage"]["estimated_calls"]
    assert 0 < len(server.bodies) < 4
    used = told["usage"]["input_tokens"] + told["usage"]["output_tokens"]
    sent = sum(len(json.dumps(body["messages"])) for body in server.bodies)
    assert sent / 6 < used < 4_000 + 600, "what was written is counted, too"


async def test_a_reply_that_breaks_off_is_counted_as_far_as_it_came(tmp_path: Path) -> None:
    piece = json.dumps(text("word " * 800)[1]).encode()
    broken = pieces(b"data: %b\n\n" % piece, ending="cut")
    async with model_server(broken) as server:
        options = uncounted(server.url, tmp_path, 4_000)
        told = result(await asyncio.to_thread(agent, tmp_path, *options, "hm?"))
    assert (told["exit_code"], told["budget"]["measure"]) == (3, "tokens")
    assert len(server.bodies) < 4
    assert told["usage"]["output_tokens"] >= 1_000
    assert told["usage"]["estimated_calls"] == len(server.bodies)
