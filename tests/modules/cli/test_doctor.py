"""`doctor`: what it finds, what it makes of it, and that it copes with anything."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from config.schema import WALL_NAMES, AgentProfile, WallName
from core.errors import ExitCode
from core.values import JsonObject
from modules.cli.doctor import diagnose
from modules.cli.doctor_configuration import web_checks
from modules.cli.doctor_findings import Check, checks_text, exit_code
from modules.sandbox import SandboxLimits
from modules.sandbox.walls.launcher import Wall
from tests.modules.cli.by_hand import Hand, entry, prepared
from tests.modules.models.choosing.worlds import NOBODY

AGENT = "agent: {name: Test, id: t}\n"


def walls(*missing: WallName) -> tuple[Wall, ...]:
    """All parts of the second wall; these don't stand."""
    return tuple(Wall(n, n not in missing, "too old" if n in missing else "") for n in WALL_NAMES)


class Doctor:
    """Examines a home of its own, with walls as given."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.capsys = capsys
        self.profile = home / "profile.yaml"
        self.profile.write_text(AGENT, encoding="utf-8")

    def find(
        self,
        *missing: WallName,
        environ: Mapping[str, str] | None = None,
        mcp_config: tuple[Path, ...] = (),
    ) -> tuple[int, dict[str, JsonObject]]:
        """The exit code, and the checks by their names."""
        words = ["--json", "--profile", str(self.profile)]
        words += [word for file in mcp_config for word in ("--mcp-config", str(file))]
        given = {**NOBODY, **(environ or {})}

        def examine(limits: SandboxLimits) -> tuple[Wall, ...]:
            return walls(*missing)

        code = diagnose(prepared(self.home, given, "doctor", *words), examine)
        out = self.capsys.readouterr().out
        document = json.loads(out)
        assert document["exit_code"] == int(code)
        assert document["ok"] == (code == ExitCode.ANSWERED)
        return int(code), {check["name"]: check for check in document["checks"]}


@pytest.fixture
def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(tmp_path, capsys)


class TestTheSandbox:
    def test_a_plan_runs_and_each_wall_is_told(self, doctor: Doctor) -> None:
        code, found = doctor.find()
        assert code == 0
        assert found["interpreter"]["state"] == "ok"
        assert found["component"]["state"] == "ok"
        assert f"wasmtime {version('wasmtime')}, compiled" in str(found["component"]["detail"])
        assert [found[name]["detail"] for name in WALL_NAMES] == ["stands"] * 4

    def test_a_wall_that_is_missing_is_no_failure_but_says_what_to_do(self, doctor: Doctor) -> None:
        code, found = doctor.find("landlock")
        assert code == 0
        assert (found["landlock"]["state"], found["landlock"]["detail"]) == ("missing", "too old")
        assert "Linux" in str(found["landlock"]["advice"])
        assert found["seccomp"]["state"] == "ok"

    def test_a_reason_that_all_walls_share_gets_no_advice_about_the_kernel(
        self, doctor: Doctor
    ) -> None:
        _, found = doctor.find(*WALL_NAMES)
        assert [found[name]["state"] for name in WALL_NAMES] == ["missing"] * 4
        assert [found[name]["advice"] for name in WALL_NAMES] == [None] * 4

    def test_one_that_the_profile_requires_is_broken_and_code_1(self, doctor: Doctor) -> None:
        required = "sandbox: {require: [landlock, seccomp]}\n"
        doctor.profile.write_text(AGENT + required, encoding="utf-8")
        code, found = doctor.find("landlock")
        assert code == 1
        assert found["landlock"]["state"] == "broken"
        assert found["landlock"]["detail"] == "too old (required by sandbox.require)"
        assert found["seccomp"]["detail"] == "stands (required by sandbox.require)"

    def test_limits_under_which_no_plan_runs_are_found_out(self, doctor: Doctor) -> None:
        doctor.profile.write_text(f"{AGENT}sandbox: {{source_bytes: 5}}\n", encoding="utf-8")
        code, found = doctor.find()
        assert code == 1
        assert found["interpreter"]["state"] == "broken"
        assert "longer than 5 bytes" in str(found["interpreter"]["detail"])
        assert "under sandbox in the profile" in str(found["interpreter"]["advice"])


class TestTheConfiguration:
    @pytest.mark.parametrize(
        ("text", "told"),
        [(None, "can't be read"), ("agent: [", "not valid YAML"), ("agent: {}", "agent.name")],
    )
    def test_a_profile_that_cannot_be_used_is_a_finding_and_code_2(
        self, doctor: Doctor, text: str | None, told: str
    ) -> None:
        if text is None:
            doctor.profile.unlink()
        else:
            doctor.profile.write_text(text, encoding="utf-8")
        code, found = doctor.find()
        assert code == 2
        assert found["profile"]["state"] == "broken"
        assert told in str(found["profile"]["detail"])
        assert found["interpreter"]["state"] == "ok"
        assert "answers" not in found

    def test_a_file_of_servers_that_cannot_be_used_is_another(self, doctor: Doctor) -> None:
        file = doctor.home / "odd.json"
        file.write_text("[", encoding="utf-8")
        code, found = doctor.find(mcp_config=(file,))
        assert code == 2
        assert str(file) in str(found["servers"]["detail"])
        assert "none" not in found

    def test_servers_are_named_and_none_is_started(self, doctor: Doctor) -> None:
        given = {
            "on": {"command": "no-such-program"},
            "off": {"command": "x", "disabled": True},
            "sad": {"command": "x", "env": {"A": "${NOT_SET}"}},
        }
        file = doctor.home / "some.json"
        file.write_text(json.dumps({"mcpServers": given}), encoding="utf-8")
        code, found = doctor.find(mcp_config=(file,))
        assert code == 0
        states = [found[name]["state"] for name in ("on", "off", "sad")]
        assert states == ["ok", "note", "missing"]
        assert "NOT_SET, which is not set" in str(found["sad"]["detail"])
        assert not (doctor.home / "logs").exists()


class TestTheWeb:
    def test_without_a_word_in_the_profile_it_searches_without_a_key(self, doctor: Doctor) -> None:
        code, found = doctor.find()
        assert code == 0
        assert found["engine"]["detail"] == "duckduckgo (needs no key)"
        assert found["pages"]["detail"] == "of public addresses only"
        assert str(found["provenance"]["detail"]).startswith("auto: you are asked where")
        assert str(found["approvals"]["detail"]).startswith("changing: a call that may change")

    @pytest.mark.parametrize(
        ("web", "environ", "state", "told"),
        [
            ({"search": "brave"}, {}, "missing", "brave: BRAVE_API_KEY is not set"),
            ({"search": "brave"}, {"BRAVE_API_KEY": "b-key"}, "ok", "brave: BRAVE_API_KEY is set"),
            ({"search": "tavily"}, {"BRAVE_API_KEY": "b-key"}, "missing", "TAVILY_API_KEY is not"),
            ({"search": "searxng", "search_url": "https://s.example"}, {}, "ok", "at https://s."),
            ({"search_url": "http://localhost:88/"}, {}, "missing", "not on the public internet"),
            ({"search_url": "http://10.1.2.3/"}, {}, "missing", "not on the public internet"),
            ({"search_url": "http://[::1]:1/", "allow_private": ["::1"]}, {}, "ok", "at http://[:"),
            (
                {"search_url": "http://a.localhost:88/", "allow_private": ["a.localhost:88"]},
                {},
                "ok",
                "at",
            ),
        ],
    )
    def test_the_engine_its_address_and_its_key_are_told(
        self, web: dict[str, object], environ: dict[str, str], state: str, told: str
    ) -> None:
        found = checks_of({"web": web}, environ)["engine"]
        assert found.state == state
        assert told in found.detail
        assert bool(found.advice) == (state == "missing")
        assert "b-key" not in found.detail

    def test_what_is_opened_or_switched_off_is_a_note(self) -> None:
        found = checks_of(
            {
                "web": {"allow_private": ["wiki.local"]},
                "security": {"provenance": "off", "approvals": "never"},
            }
        )
        for name in ("pages", "provenance", "approvals"):
            assert found[name].state == "note"
        assert found["pages"].detail.endswith("wiki.local")
        assert "hostile page" in found["provenance"].detail

    def test_captions_that_lack_a_key_are_missing(self) -> None:
        section: dict[str, object] = {"web": {"captions": "gemini:x"}}
        assert checks_of(section)["pictures"].state == "missing"
        assert "pictures" not in checks_of(section, {"GEMINI_API_KEY": "very-secret"})


def checks_of(
    sections: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> dict[str, Check]:
    """What is said of the web in a profile with these sections, by name."""
    profile = AgentProfile.model_validate({"agent": {"name": "Test", "id": "t"}, **sections})
    return {check.name: check for check in web_checks(profile, environ or {})}


class TestTheFiles:
    def test_a_home_that_is_no_folder_is_missing(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        doctor = Doctor(tmp_path, capsys)
        doctor.home = tmp_path / "file" / "home"
        (tmp_path / "file").touch()
        code, found = doctor.find(environ={"CORTEX_HOME": str(doctor.home)})
        assert code == 0
        assert found["home"]["state"] == found["sessions"]["state"] == "missing"
        assert found["home"]["detail"] == (
            f"{doctor.home} (from CORTEX_HOME): {tmp_path / 'file'} is no folder"
        )
        assert "set CORTEX_HOME" in str(found["home"]["advice"])

    def test_a_home_that_is_not_there_yet_is_fine_and_nothing_is_made(self, doctor: Doctor) -> None:
        doctor.home = doctor.home / "new"
        code, found = doctor.find()
        assert (code, found["home"]["state"], found["logs"]["state"]) == (0, "ok", "ok")
        assert not doctor.home.exists()

    def test_sessions_that_are_not_wanted_are_a_note(self, doctor: Doctor) -> None:
        doctor.profile.write_text(f"{AGENT}memory: {{memory_service: false}}\n", encoding="utf-8")
        assert doctor.find()[1]["sessions"]["state"] == "note"


def test_people_get_it_by_area_with_a_verdict(hand: Hand) -> None:
    hand.write_profile(entry("typed"))
    done = hand.run("doctor")
    assert done.err == ""
    lines = done.out.splitlines()
    areas = [line for line in lines[:-1] if not line.startswith(" ")]
    assert areas == [
        "program",
        "sandbox",
        "files",
        "configuration",
        "model",
        "documents",
        "web",
        "servers",
    ]
    assert "  ok       typed: stdio, in " in done.out
    assert "cpu_seconds" not in done.out
    assert done.code == 0
    assert lines[-1].startswith("all that is needed works")
    assert "limits: cpu_seconds 5.0" in hand.run("doctor", "--verbose").out


def test_text_is_wrapped_for_a_narrow_terminal_and_advice_stands_below() -> None:
    checks = [
        Check("sandbox", "landlock", "missing", f"one\n{'two ' * 12}".strip(), "get a kernel"),
        Check("model", "answers", "broken", "x"),
    ]
    assert checks_text(checks, 10).splitlines() == [
        "sandbox",
        "  missing  landlock: one",
        "           two two two two two two two",
        "           two two two two two",
        "           → get a kernel",
        "model",
        "  broken   answers: x",
        "broken: model: answers",
    ]
    assert f"{'two ' * 12}".strip() in checks_text(checks, None)


@pytest.mark.parametrize(
    ("checks", "code"),
    [
        ([], ExitCode.ANSWERED),
        ([Check("servers", "x", "missing", ""), Check("files", "x", "note", "")], 0),
        ([Check("sandbox", "x", "broken", "")], ExitCode.WORLD_FAILED),
        ([Check("sandbox", "x", "broken", ""), Check("model", "x", "broken", "")], 2),
        ([Check("configuration", "x", "broken", "")], ExitCode.BAD_USAGE),
    ],
)
def test_what_the_user_has_to_correct_comes_first_in_the_exit_code(
    checks: list[Check], code: int
) -> None:
    assert exit_code(checks) == code
