"""A prompt template, filled, and how much of it stays the same from request to request."""

from collections.abc import Mapping
from dataclasses import dataclass

from modules.tools import fill_prompt


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """The text of a prompt; its first `prefix_characters` don't depend on the request."""

    text: str
    prefix_characters: int


def fill_from(template: str, values: Mapping[str, str], changing: str) -> FilledPrompt:
    """Fill a template in which what changes from request to request begins with `{changing}`.

    The stable part ends before the paragraph in which that name stands; without it, nothing is
    taken to be stable.
    """
    before, name, _ = template.partition(f"{{{changing}}}")
    stable = before[: before.rfind("\n\n") + 2] if name and "\n\n" in before else ""
    prefix = fill_prompt(stable, values)
    return FilledPrompt(prefix + fill_prompt(template[len(stable) :], values), len(prefix))
