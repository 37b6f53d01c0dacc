"""What the memory server is told."""

from pathlib import Path

import pytest

from servers.memory.options import MemoryOptions, read_options
from servers.rag.errors import OptionsError


def test_the_variable_says_all(tmp_path: Path) -> None:
    given = MemoryOptions(folder=tmp_path, embedder="none", mask=("x+",), is_on=False)
    assert read_options({"CORTEX_MEMORY": given.model_dump_json()}) == given


def test_without_it_memory_lies_in_the_home() -> None:
    assert read_options({"CORTEX_HOME": "/h"}).folder == Path("/h/memory")
    assert read_options({}).folder == Path(__file__).parents[3] / "memory"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{", "it: Invalid JSON"),
        ('{"folder": 5}', "folder: "),
        ("{}", "folder: Field required"),
        ('{"folder": "/h", "foldr": "/h"}', "foldr: Extra inputs"),
        ('{"folder": "/h", "mask": [""]}', "mask.0: "),
    ],
)
def test_what_is_wrong_is_named(given: str, told: str) -> None:
    with pytest.raises(OptionsError, match=f"^CORTEX_MEMORY: {told}"):
        read_options({"CORTEX_MEMORY": given})
