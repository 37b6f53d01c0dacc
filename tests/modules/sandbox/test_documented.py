"""What `docs/sandbox.md` says is not there is what is not there."""

import re

from config.settings import ROOT
from tests.modules.sandbox.sandbox_tools import run, solve

DOCUMENT = ROOT / "docs" / "sandbox.md"

TRY_ALL = (
    "gone = []",
    "names = {name for name in sys.stdlib_module_names if name[0] != '_'}",
    "for name in sorted(names | {'compression.zstd'}):",
    "    try: importlib.import_module(name)",
    "    except ModuleNotFoundError: gone.append(name)",
    "return gone",
)

ELSEWHERE = {"msvcrt", "nt", "winreg", "winsound"}
"""What only Windows has."""


async def test_the_modules_that_are_not_there_are_named() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    bullets = re.findall(r"^- \*\*Modules .*$", text, re.MULTILINE)
    named = {
        name
        for bullet in bullets
        for name in re.findall(r"`([\w.]+)`", bullet)
        if name not in ("hashlib", "pbkdf2_hmac", "scrypt")
    }
    ran = await run("import importlib, sys\n" + solve(*TRY_ALL))
    assert isinstance(ran.value, list), ran.failure
    assert {*map(str, ran.value)} - ELSEWHERE == named - {"test"}
