"""One value of a YAML text changes, and nothing else does."""

import pytest

from config.texts import TextProblem
from config.yaml_edit import Raw, value_at, with_value

TEXT = """\
# top
agent:
  name: Test        # its name
  description: >
    of several
    lines
memory:
  storage: {base_dir: memory, sync: item}  # where
persona:
mcp_servers:
  - id: math
    script: a.py    # the sums
  - id: docs
    script: b.py
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("agent.name", "Other", "name: Test        # its", "name: Other        # its"),
        ("agent.name", "5", "name: Test  ", "name: '5'  "),
        ("agent.name", "a: # b", "name: Test  ", "name: 'a: # b'  "),
        ("memory.storage", {"sync": "run"}, "{base_dir: memory, sync: item}", "{sync: run}"),
        ("memory.storage.sync", "run", "sync: item}", "sync: run}"),
        ("memory.mask", ["a", "b"], "memory:\n", "memory:\n  mask: [a, b]\n"),
        ("persona.tone", "dry", "persona:\n", "persona: {tone: dry}\n"),
        ("mcp_servers.docs.script", "c.py", "script: b.py", "script: c.py"),
        ("mcp_servers.0.script", "c.py", "script: a.py ", "script: c.py "),
        ("mcp_servers.math.disabled", True, "- id: math", "- disabled: true\n    id: math"),
        ("llm.retries", 0, "script: b.py\n", "script: b.py\n\nllm: {retries: 0}\n"),
    ],
)
def test_a_value_is_set_and_every_other_character_stays(
    key: str, value: Raw, old: str, new: str
) -> None:
    assert TEXT.count(old) == 1
    assert with_value(TEXT, key.split("."), value) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("key", "line"), [("agent.description", 4), ("memory.storage.structure", 8), ("agent", 3)]
)
def test_what_cannot_be_edited_safely_is_named_with_its_line(key: str, line: int) -> None:
    with pytest.raises(TextProblem) as caught:
        with_value(TEXT, key.split("."), "x")
    assert caught.value.line == line


def test_an_element_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TextProblem, match="no element 'x'"):
        with_value(TEXT, ["mcp_servers", "x", "script"], "y")
    with pytest.raises(KeyError):
        value_at({"a": [1]}, ["a", "1"])
