"""Items of sessions as a recorder writes them, at times that the test says."""

from core.turn import MemoryItem
from core.values import Json, JsonObject


def item(at: float, kind: str, **more: Json) -> MemoryItem:
    return MemoryItem.model_validate({"timestamp": at, "type": kind, "text": "", **more})


def call(at: float, number: int, seconds: float, *, ok: bool = True) -> list[MemoryItem]:
    metadata: JsonObject = {"server": "math", "call_id": number}
    fields: JsonObject = {"tool_name": "add", "tool_args": {"a": number}}
    ended: JsonObject = {"success": ok, "tool_result": {"result": "12" if ok else "boom"}}
    return [
        item(at, "tool_call", metadata={**metadata}, **fields),
        item(
            at + seconds,
            "tool_output",
            metadata={**metadata, "seconds": seconds},
            **fields,
            **ended,
        ),
    ]


def plan(at: float, seconds: float, attempt: int, *, ok: bool, **more: Json) -> MemoryItem:
    return item(
        at + seconds,
        "tool_output",
        tool_name="solve_sandbox",
        tool_args={"plan": "async def solve(): ..."},
        tool_result={"result": "FINAL_ANSWER: 12" if ok else "error: ZeroDivisionError"},
        success=ok,
        metadata={"step": 1, "attempt": attempt, "seconds": seconds, **more},
    )


def model_call(at: float, seconds: float, **more: Json) -> JsonObject:
    usage: Json = {"input_tokens": 900, "output_tokens": 100, "cost": 0.25}
    told: JsonObject = {"model": "m", "purpose": "decision", "at": at, "seconds": seconds}
    return {**told, "usage": usage, **more}


def in_parts(at: float) -> list[MemoryItem]:
    """A run whose parts `first` and `other` went side by side; `both` needed them.

    `first` took 2 s and used 1,000 tokens, `other` failed after 3 s, and `both` never began.
    """
    subtasks: Json = [
        {"id": "first", "description": "find A"},
        {"id": "other", "description": "find B", "role": "reader"},
        {"id": "both", "description": "join {{first}} and {{other}}"},
    ]
    graph: Json = {"goal": "compare", "subtasks": subtasks}

    def told(after: float, kind: str, words: str = "", **fields: Json) -> MemoryItem:
        metadata: JsonObject = {"team": kind, **fields}
        return item(at + after, "run_metadata", metadata=metadata, text=words)

    def ended(after: float, id_: str, state: str, text: str, seconds: float) -> MemoryItem:
        more: JsonObject = {"subtask": id_, "state": state, "text": text, "seconds": seconds}
        metadata: JsonObject = {"team": "SubtaskChanged", "attempt": 1, **more}
        return item(at + after, "run_metadata", metadata=metadata)

    def of(id_: str, items: list[MemoryItem]) -> list[MemoryItem]:
        part: JsonObject = {"subtask": id_, "subtask_attempt": 1}
        return [each.model_copy(update={"metadata": each.metadata | part}) for each in items]

    models: Json = [model_call(at + 1.1, 0.3)]
    return [
        item(at, "run_metadata", user_query="compare", metadata={"start_time": "x"}),
        told(0.5, "GraphPlanned", "Planned 3 subtasks", graph=graph, notes=[]),
        told(0.9, "RoleChosen", subtask="first", role="writer", reason="it fits"),
        *of("first", call(at + 1.5, 1, 0.5)[:1]),
        *of("other", call(at + 1.6, 1, 1.0)),
        *of("first", call(at + 1.5, 1, 0.5)[1:]),
        *of("first", [plan(at + 1, 1.9, 1, ok=True, model_calls=models)]),
        ended(3, "first", "completed", "alpha", 2.0),
        *of("other", [plan(at + 1, 2.9, 1, ok=False)]),
        ended(4, "other", "failed", "no B", 3.0),
        ended(4, "both", "blocked", "", 0.0),
        told(4.1, "Judged", "Judged as blocked: B is missing", verdict="blocked", reason="x"),
        item(at + 4.2, "run_metadata", metadata={"status": "no_answer", "message": "No answer"}),
    ]
