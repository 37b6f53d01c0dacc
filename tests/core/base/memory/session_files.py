"""Session files as the recorder writes them, made in one go."""

import json
from collections.abc import Sequence
from pathlib import Path

from core.base.memory.exchanges import DatedExchange
from core.values import Json, JsonObject


def write_session(
    folder: Path, session_id: str, exchanges: Sequence[DatedExchange], title: str = ""
) -> Path:
    """Write a session of these exchanges; five items for one with an answer and a tool."""
    items: list[Json] = []
    for each in exchanges:
        items += items_of(each, session_id)
    if title:
        metadata: Json = {"title": title}
        items.append({"timestamp": 1.0, "type": "run_metadata", "text": "", "metadata": metadata})
    path = folder / f"{session_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(items, indent=2, ensure_ascii=False), encoding="utf-8")
    return path


def items_of(exchange: DatedExchange, session_id: str) -> list[Json]:
    """What the recorder keeps of a run."""
    when, asked, answer = exchange.asked_at, exchange.request, exchange.answer
    item: JsonObject = {"timestamp": when, "type": "run_metadata", "text": f"Started: {asked}"}
    items: list[JsonObject] = [{**item, "user_query": asked}]
    for tool in exchange.tools:
        for kind, name in (("call", tool), ("output", tool), ("output", "solve_sandbox")):
            item = {
                "timestamp": when,
                "type": f"tool_{kind}",
                "text": f"{kind} of {name}",
            }
            items.append({**item, "tool_name": name, "tool_result": {"result": answer}})
    if answer is not None:
        item = {"timestamp": when + 1, "type": "final_answer", "text": f"Final answer: {answer}"}
        items.append({**item, "final_answer": answer, "user_query": asked})
    return [{**item, "session_id": session_id, "tags": ["run"], "metadata": {}} for item in items]
