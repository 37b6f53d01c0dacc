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
