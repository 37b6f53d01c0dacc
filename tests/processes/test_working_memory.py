"""Working memory as users meet it: a scripted model, steps, retries, and the next request."""

from pathlib import Path

from tests.command_line import SUMS_SERVER, agent, plan, script, write_profile


def test_steps_and_retries_of_one_request_share_it_and_the_next_request_has_none(
    tmp_path: Path,
) -> None:
    replies = [
        plan(
            "memory['sum'] = await tools.add(a=1, b=2)\n"
            "return f\"FURTHER_PROCESSING_REQUIRED: {memory['sum']} stones\""
        ),
        plan("memory['sum'] += 10\nreturn 1 / 0"),
        plan("return f\"FINAL_ANSWER: {memory['sum']} of {memory['text']}\""),
        plan("return f'FINAL_ANSWER: {sorted(memory)}'"),
    ]
    options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER))]
    options += ["--model", script(tmp_path, replies)]
    done = agent(tmp_path, *options, stdin=b"count the stones\nwhat is left?\n")
    assert (done.code, done.out) == (0, "13 of 3 stones\n[]\n")


def test_a_plan_by_hand_begins_with_nothing(tmp_path: Path) -> None:
    file = tmp_path / "plan.py"
    file.write_text(plan("memory['a'] = 5\nreturn f'FINAL_ANSWER: {memory}'"), encoding="utf-8")
    options = ["--profile", str(write_profile(tmp_path))]
    for _ in range(2):
        done = agent(tmp_path, "run-plan", str(file), *options)
        assert (done.code, done.out) == (0, "{'a': 5}\n"), done.err
