"""The type checker in its process: bounded, and of no harm where it is missing, slow or broken."""

import ast
import logging
import time
from pathlib import Path

import pytest

from modules.planning.check.checker import CHECK_SECONDS, findings, stub_of
from modules.planning.names import read_plan
from modules.planning.preparation import prepare_plan
from tests.modules.planning.plan_tools import TYPED
from tests.modules.sandbox.sandbox_tools import CATALOG, solve

WRONG = solve("return await tools.add(a=1)")


def stub(plan: str) -> str:
    return stub_of(read_plan(plan, TYPED).names)


def program(folder: Path, script: str) -> str:
    """A program in the checker's place."""
    file = folder / "checker"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)
    return str(file)


def test_a_finding_has_its_rule_and_place() -> None:
    (found,) = findings(WRONG, stub(WRONG))
    assert (found.rule, found.start, found.end) == ("missing-argument", (2, 17), (2, 31))


def test_places_count_characters_of_any_script() -> None:
    plan = solve("return 'é😀日', await tools.add(a=1)")
    (found,) = findings(plan, stub(plan))
    assert plan.split("\n")[1][found.start[1] : found.end[1]] == "tools.add(a=1)"


def test_the_same_plan_is_always_told_the_same() -> None:
    assert len({str(findings(WRONG, stub(WRONG))) for _ in range(5)}) == 1


def test_the_language_is_that_of_plans_and_not_of_this_python() -> None:
    plan = "type Row[T = int] = dict[str, T]\n" + solve("r = t'{1}'", "return r.strings")
    assert findings(plan, "") == []


@pytest.mark.parametrize(
    "script",
    ["exit 3", "echo 'no JSON'", "echo '{}'", "echo '[{}]'", "echo '[1]'", "kill -9 $$",
     "while :; do echo 0123456789012345678901234567890123456789; done"],
)  # fmt: skip
def test_a_broken_checker_finds_nothing_and_the_log_says_so(
    script: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert findings(WRONG, "", program(tmp_path, script)) == []
        told = len(caplog.records)
        assert findings(WRONG, "", program(tmp_path, script)) == []
    assert told <= 1
    assert len(caplog.records) == told


def test_a_missing_checker_finds_nothing(tmp_path: Path) -> None:
    assert findings(WRONG, "", str(tmp_path / "nothing")) == []


def test_a_slow_checker_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    assert findings(WRONG, "", program(tmp_path, "exec sleep 60")) == []
    assert time.monotonic() - began < CHECK_SECONDS + 5


def test_the_checker_has_no_environment_and_no_folder_but_its_own(tmp_path: Path) -> None:
    kept = tmp_path / "said"
    findings(WRONG, "", program(tmp_path, f"(env; pwd; ls) > {kept}; echo '[]'"))
    said = kept.read_text().split("\n")
    names = {line.partition("=")[0] for line in said if "=" in line}
    assert names <= {"HOME", "TY_MAX_PARALLELISM", "PWD", "OLDPWD", "SHLVL", "_"}
    folder = next(line.removeprefix("HOME=") for line in said if line.startswith("HOME="))
    assert folder in said
    assert {"plan.py", "__builtins__.pyi", "ty.toml"} <= {*said}
    assert not Path(folder).exists()


def test_a_stub_holds_the_tools_alone_that_a_plan_names() -> None:
    text = stub(solve("return await tools.add(a=1, b=2)"))
    ast.parse(text)
    assert "add" in text
    assert "weather" not in text


def test_a_plan_that_calls_nothing_is_not_checked() -> None:
    began = time.perf_counter()
    for _ in range(20):
        assert prepare_plan(solve("return [1]['x']"), CATALOG).failure is None
    assert time.perf_counter() - began < 0.5
