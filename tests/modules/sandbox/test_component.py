"""The sandbox's machine code: which file is used, who may have written it, when it is made anew."""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

from core.errors import SandboxUnavailable
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject
from modules.sandbox import Sandbox
from modules.sandbox.build_component import read_seal, sealed, sources_digest
from modules.sandbox.component import COMPILING, KEPT, compiled, discard, find_compiled
from tests.command_line import ROOT
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS

EMPTY = b"\0asm\x0d\0\x01\0"
"""The smallest component: compiling it takes no time."""


def unlike_others() -> bytes:
    """One with a section that means nothing: what a process has made of others is not its own."""
    return EMPTY + b"\0\x09\x08" + os.urandom(8).hex()[:8].encode()


OTHER_USER = 12345


def component(folder: Path) -> Path:
    """A component, made of our sources as its seal says."""
    file = folder / "plan.wasm"
    file.write_bytes(sealed(unlike_others(), sources_digest(), "tools"))
    return file


class Kept:
    """Machine code in a cache of its own; what was told of it."""

    def __init__(self, home: Path) -> None:
        self.component = component(home)
        self.folder = home / "cache" / "sandbox"
        self.told: list[str] = []

    def get(self) -> Path:
        return compiled(self.folder, self.told.append, self.component)

    def find(self) -> Path | None:
        return find_compiled(self.folder, self.component)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_it_is_made_once_and_says_so(kept: Kept) -> None:
    assert kept.find() is None
    file = kept.get()
    assert file.parent == kept.folder
    assert (kept.get(), kept.find()) == (file, file)
    assert kept.told == [COMPILING]


def test_what_is_made_can_be_loaded(kept: Kept) -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); sys.argv[1] = ''; import worker_program"
    load = f"{program} as w; w.Component.deserialize_file(w.engine(), sys.argv[2])"
    sandbox = str(ROOT / "modules" / "sandbox")
    subprocess.run([sys.executable, "-c", load, sandbox, kept.get()], check=True, timeout=60)


def test_nobody_else_may_enter_its_folder_or_write_it(kept: Kept) -> None:
    file = kept.get()
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0


def test_another_component_has_other_machine_code(kept: Kept) -> None:
    before = kept.get()
    component(kept.component.parent)
    assert kept.find() is None
    assert kept.get() != before


def test_its_name_says_which_wasmtime_made_it(kept: Kept) -> None:
    assert kept.get().name.startswith(f"plan-{version('wasmtime')}-")


def test_old_machine_code_goes(kept: Kept) -> None:
    made: list[Path] = []
    for number in range(KEPT + 2):
        component(kept.component.parent)
        made.append(kept.get())
        os.utime(made[-1], (number, number))
    assert set(kept.folder.iterdir()) == set(made[-KEPT:])


def test_what_a_worker_could_not_load_is_made_anew(kept: Kept) -> None:
    file = kept.get()
    whole = file.read_bytes()
    file.write_bytes(whole[:100])
    discard(file)
    assert kept.get().read_bytes() == whole


def test_a_writer_that_was_killed_leaves_nothing_that_is_used(kept: Kept) -> None:
    file = kept.get()
    file.unlink()
    draft = kept.folder / "killed.tmp"
    draft.mkdir()
    (draft / file.name).write_bytes(b"half")
    kept.get()
    assert [*kept.folder.iterdir()] == [file]


def test_several_that_need_it_at_once_make_it_once(kept: Kept) -> None:
    with ThreadPoolExecutor(8) as pool:
        files = [pool.submit(kept.get) for _ in range(8)]
    assert len({file.result() for file in files}) == 1
    assert kept.told == [COMPILING]


def writable(path: Path) -> None:
    path.chmod(path.stat().st_mode | stat.S_IWOTH)


def of_another(path: Path) -> None:
    os.chown(path, OTHER_USER, OTHER_USER)


def elsewhere(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
CHANGES = [writable, elsewhere, pytest.param(of_another, marks=needs_root)]


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_of_others_is_refused_and_a_private_one_taken(
    kept: Kept, change: Callable[[Path], None]
) -> None:
    kept.get()
    change(kept.folder)
    assert kept.find() is None
    kept.told.clear()
    file = kept.get()
    assert kept.folder not in file.parents
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    refused, compiling = kept.told
    assert str(kept.folder) in refused
    assert compiling == COMPILING
    assert kept.get() == file
    assert len(kept.told) == 2, "it is told once"


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_of_others_is_replaced(kept: Kept, change: Callable[[Path], None]) -> None:
    file = kept.get()
    change(file)
    assert kept.find() is None
    assert kept.get() == file == kept.find()
    assert not file.is_symlink()


def test_a_folder_that_everybody_could_put_another_in_place_of_is_refused(kept: Kept) -> None:
    kept.get()
    writable(kept.folder.parent)
    assert kept.find() is None
    assert kept.folder not in kept.get().parents


def test_a_folder_that_cannot_be_made_is_no_obstacle(kept: Kept) -> None:
    kept.folder.parent.write_text("a file, where the folder should be", encoding="utf-8")
    assert kept.get().is_file()
    assert str(kept.folder.parent) in kept.told[0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "missing or damaged"),
        (EMPTY, "missing or damaged"),
        (sealed(EMPTY, "0" * 64, "tools"), "older than its sources"),
        (sealed(b"no component", sources_digest(), "tools"), "can't be compiled"),
    ],
)
def test_a_component_that_cannot_be_used_says_why_and_what_to_do(
    kept: Kept, content: bytes | None, told: str
) -> None:
    kept.component.unlink()
    if content is not None:
        kept.component.write_bytes(content)
    with pytest.raises(SandboxUnavailable, match=told) as raised:
        kept.get()
    assert "Type make" in str(raised.value)


def test_the_component_of_this_checkout_is_made_of_its_sources() -> None:
    seal = read_seal(ROOT / "modules" / "sandbox" / "guest" / "plan.wasm")
    assert seal is not None
    assert seal.sources == sources_digest()
    assert "componentize-py" in seal.tools


async def test_a_plan_knows_every_time_zone() -> None:
    plan = """import zoneinfo
from datetime import datetime
async def solve():
    summer = datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    try:
        zoneinfo.ZoneInfo("No/Where")
    except zoneinfo.ZoneInfoNotFoundError:
        return [summer.isoformat(), sorted(zoneinfo.available_timezones())]
"""
    names = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        ran = await box.run(plan, ToolCatalog(()), no_call)
    assert ran.value == ["2026-07-01T00:00:00+02:00", sorted(names)]


async def no_call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    raise AssertionError("the plan calls nothing")
