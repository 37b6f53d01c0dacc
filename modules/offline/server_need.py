"""Which servers a request waits for, of those whose tools are not known yet."""

from collections.abc import Sequence

from config.servers import ServerSpec
from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.turn import Exchange, PerceptionResult
from modules.offline.planner import is_surely_planned
from modules.prespawn import may_be_meant


def servers_to_ask(
    request: str, unlearned: Sequence[ServerSpec], known: ToolCatalog, history: Sequence[Exchange]
) -> list[str]:
    """The ids of the servers that the request may need; blocks, so call it from a thread.

    Those that share a word with the request; else none, if the known tools surely do, as the
    offline planner reads it; else all: nobody but they can tell what they offer.
    """
    if meant := [spec.id for spec in unlearned if may_be_meant(request, spec)]:
        return meant
    inputs = DecisionInputs(request, known, PerceptionResult(), tuple(history))
    return [] if is_surely_planned(inputs) else [spec.id for spec in unlearned]
