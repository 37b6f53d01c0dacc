"""What `docs` does, as a value: the words for the program that looks after documents."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:  # which has this class in its union
    from modules.cli.command import Options

DocsAction: TypeAlias = Literal["add", "list", "status", "search", "reindex", "remove", "watch"]


@dataclass(frozen=True, slots=True)
class ManageDocuments:
    """`docs ACTION …`; `words` are the action and what belongs to it, options as well."""

    options: "Options"
    action: DocsAction
    words: tuple[str, ...]
