"""The built wheel, installed outside the checkout, does the main job."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from core.base.files import make_private_folder
from modules.sandbox.component import COMPILING, compiled
from tests.command_line import INDIA, ROOT, environment

COMPONENT = Path("modules", "sandbox", "guest", "plan.wasm")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with nothing but the wheel, its dependencies lent by this one."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=60,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    site = next((folder / "env").rglob("site-packages"))
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, site], check=True, timeout=60)
    _lend_bytecode(site)
    assert (site / COMPONENT).read_bytes() == (ROOT / COMPONENT).read_bytes(), "it was made anew"
    # A .pth line adds our dependencies; the checkout, an editable install, is not among them.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return folder / "env"


def _lend_bytecode(site: Path) -> None:
    """Give our modules there what Python has compiled of the same files here: two seconds' work."""
    for module in site.rglob("*.py"):
        source = ROOT / module.relative_to(site)
        compiled = Path(cache_from_source(str(source)))
        if source.is_file() and compiled.is_file():
            shutil.copystat(source, module)  # by its time and size Python knows what belongs to it
            lent = Path(cache_from_source(str(module)))
            lent.parent.mkdir(exist_ok=True)
            shutil.copyfile(compiled, lent)


def lend_machine_code(home: Path) -> None:
    """Have the sandbox's machine code as a first plan would leave it: seven seconds' work."""
    code = compiled()
    make_private_folder(home / "cache" / "sandbox")
    shutil.copy2(code, home / "cache" / "sandbox" / code.name)


def run(
    installed: Path,
    home: Path,
    *arguments: str,
    program: str = "import agent; agent.main()",
    lends: bool = True,
) -> "subprocess.CompletedProcess[str]":
    if lends:
        lend_machine_code(home)
    return subprocess.run(
        [installed / "bin" / "python", "-c", program, *arguments],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_wheel_answers_the_demonstration_outside_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    done = run(installed, tmp_path, INDIA)
    assert (done.returncode, done.stdout) == (0, "7.599822246093079e+33\n"), done.stderr


def examples() -> list[tuple[str, str]]:
    """Each program in docs/python.md, and what it prints."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(found) == page.count("```python") > 0, "an example does not say what it prints"
    return found


@pytest.mark.parametrize(("program", "printed"), examples(), ids=lambda text: str(text.count("\n")))
def test_each_example_for_python_programs_runs_from_the_wheel(
    installed: Path, tmp_path: Path, program: str, printed: str
) -> None:
    done = run(installed, tmp_path, program=program)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, ""), done.stderr
    assert not any(ROOT.glob("state-*"))


def test_the_wheel_comes_from_the_fresh_environment(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed / "bin" / "python", "-c", "import core; print(core.__file__)"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith(str(installed)), done.stdout
    assert str(ROOT) not in done.stdout.replace(os.fspath(installed), "")


def test_the_wheel_ships_prompts_and_configuration_but_no_tests(installed: Path) -> None:
    site = next(installed.rglob("site-packages"))
    shipped = {path.name for path in site.iterdir()}
    assert {"agent.py", "core", "modules", "prompts", "config", "servers"} <= shipped
    assert not {"tests", "documents", "memory"} & shipped
    assert (site / "config" / "profiles.yaml").is_file()
    metadata = next(site.glob("cortex_r-*.dist-info")) / "entry_points.txt"
    assert "cortex-r = agent:main" in metadata.read_text(encoding="utf-8")


def test_the_first_plan_of_an_installation_prepares_the_sandbox_and_says_so(
    installed: Path, tmp_path: Path
) -> None:
    first, second = (run(installed, tmp_path, INDIA, lends=False) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert first.stdout == second.stdout == "7.599822246093079e+33\n"
    assert first.stderr.count(f"[sandbox] {COMPILING}\n") == 1
    assert COMPILING not in second.stderr


def test_an_installation_whose_component_is_gone_says_so_and_runs_no_plan(
    installed: Path, tmp_path: Path
) -> None:
    component = next(installed.rglob("site-packages")) / COMPONENT
    aside = component.replace(component.with_name("aside"))
    try:
        doctor = run(installed, tmp_path, "doctor", "--json")
        request = run(installed, tmp_path, INDIA)
    finally:
        aside.replace(component)
    (found,) = (c for c in json.loads(doctor.stdout)["checks"] if c["name"] == "component")
    assert (doctor.returncode, found["state"]) == (1, "broken")
    assert f"missing or damaged: {component}. Install Cortex-R again" in found["detail"]
    assert (request.returncode, request.stdout) == (1, "")
    assert "missing or damaged" in request.stderr
