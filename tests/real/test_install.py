"""The set-up of these tests: what the lists pin, and what is told when a registry is not there."""

import json
import sys
from typing import cast

import pytest

from core.values import JsonObject
from tests.real.install import LISTS, InstallError, run_installer
from tests.real.parts import NODE_PACKAGES


def _read(path: str) -> JsonObject:
    return cast("JsonObject", json.loads((LISTS / path).read_text(encoding="utf-8")))


def test_what_is_installed_is_what_the_list_pins() -> None:
    wanted = cast("dict[str, str]", _read("package.json")["dependencies"])
    there = {
        name: json.loads((NODE_PACKAGES / name / "package.json").read_text())["version"]
        for name in wanted
    }
    assert there == wanted


def test_the_lock_pins_by_content_and_names_no_address_to_fetch_from() -> None:
    packages = cast("dict[str, JsonObject]", _read("package-lock.json")["packages"])
    installed = {name: entry for name, entry in packages.items() if name}
    assert len(installed) > 100
    assert [name for name, entry in installed.items() if "integrity" not in entry] == []
    assert [name for name, entry in installed.items() if "resolved" in entry] == []


def test_a_failed_installer_is_named_with_what_it_said_and_what_to_do(
    capfd: pytest.CaptureFixture[str],
) -> None:
    failing = [sys.executable, "-c", "print('no route to host'); raise SystemExit(7)"]
    with pytest.raises(InstallError, match=r"npm failed with exit code 7.*registry reachable"):
        run_installer("npm", failing)
    assert "no route to host" in capfd.readouterr().err


def test_an_installer_is_asked_nothing_and_shows_nothing_where_it_succeeds(
    capfd: pytest.CaptureFixture[str],
) -> None:
    asking = [sys.executable, "-c", "import sys; print('[Y/n]'); assert sys.stdin.read() == ''"]
    run_installer("npm", asking)
    assert capfd.readouterr() == ("", "")
