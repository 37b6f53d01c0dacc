"""Prompt templates: read, filled, and how much of one stays the same from request to request."""

import re
from collections.abc import Mapping
from pathlib import Path

from config.settings import ROOT
from core.base.frozen import frozen
from core.errors import ConfigurationError


@frozen
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


def names_in(template: str) -> list[str]:
    """The names that stand in a template as `{name}`, in their order, each once.

    What stands in two braces is a text for the model, such as a reference of task graphs.
    """
    return [*dict.fromkeys(re.findall(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})", template))]


def load_prompt(path: str | Path) -> str:
    """The text of a prompt template; a relative path starts at the checkout.

    Raises:
        ConfigurationError: there is no such file, or it is not UTF-8 text.
    """
    file = ROOT / path  # the checkout, or site-packages: where `prompts/` lies
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"prompt template {file} can't be read: {error.strerror or error}; "
            "restore it, or install Cortex-R again"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"prompt template {file} is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error


def fill_prompt(template: str, values: Mapping[str, str]) -> str:
    """The template with each `{name}` that `values` holds replaced by its value.

    One pass: braces in values are text, and so are braces in the template around anything
    else, such as JSON examples. A name that the template lacks is no error.
    """
    if not values:
        return template
    names = "|".join(re.escape(name) for name in values)
    return re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], template)
