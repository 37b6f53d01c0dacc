"""Questions of runs, put to the user of an editor."""

from pathlib import Path

import pytest

from core.asking import Answer, AskedCall, Question, ShownValue
from core.base.redaction import Redactor
from core.mcp.peer import RpcError, SessionLost
from core.values import Json, JsonObject
from modules.service.acp.asking import EditorQuestions
from modules.service.acp.door import Editor
from modules.service.acp.updates import RunUpdates

VISIT = Question(
    "1", "visit", "sign in", options={"done": "I have", "no": "I won't"}, url="https://a.example/"
)
FORM: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}}


class FakeEditor(Editor):
    """Answers each request with the same, or fails with it; keeps what it is asked and told."""

    def __init__(self, answer: JsonObject | Exception, *, forms: bool = False) -> None:
        self.has_forms = forms
        self.answer = answer
        self.asked: list[tuple[str, JsonObject]] = []
        self.told: list[JsonObject] = []
        self.chat: list[str] = []
        updates = RunUpdates(self._hear, Redactor({}), Path("/work"))
        self.questions = EditorQuestions(
            "s", self, self._ask_in_chat, updates, Redactor({}), Path("/work")
        )

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        self.asked.append((method, params))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def _hear(self, update: JsonObject) -> None:
        self.told.append(update)

    async def _ask_in_chat(self, text: str) -> str | None:
        self.chat.append(text)
        return "from the chat"


def chosen(option: Json) -> JsonObject:
    return {"outcome": {"outcome": "selected", "optionId": option}}


@pytest.mark.parametrize(
    ("answer", "expected", "status"),
    [
        (chosen("done"), Answer("done"), "completed"),
        (chosen("no"), Answer("no"), "failed"),
        (chosen("never offered"), None, "failed"),
        (chosen(["done"]), None, "failed"),
        ({"outcome": {"outcome": "cancelled"}}, None, "failed"),
        ({"outcome": "done"}, None, "failed"),
        (RpcError(-32601, "no such method"), None, "failed"),
        (SessionLost("was closed", was_sent=True), None, "failed"),
    ],
)
async def test_what_has_options_is_a_permission_request(
    answer: JsonObject | Exception, expected: Answer | None, status: str
) -> None:
    editor = FakeEditor(answer)
    assert await editor.questions.put(VISIT) == expected
    ((method, params),) = editor.asked
    assert method == "session/request_permission"
    assert "https://a.example/" in str(params), "where it leads is shown"
    assert [each["status"] for each in editor.told] == ["pending", status]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("accept", Answer(content={"name": "Ada"})),
        ("decline", Answer(declined=True)),
        ("cancel", None),
        (None, None),
    ],
)
async def test_a_form_goes_to_an_editor_that_has_forms_alone(
    action: str | None, expected: Answer | None
) -> None:
    question = Question("1", "form", "who are you?", form=FORM)
    editor = FakeEditor({"action": action, "content": {"name": "Ada"}}, forms=True)
    assert await editor.questions.put(question) == expected
    assert editor.asked[0][1]["requestedSchema"] == FORM
    without = FakeEditor({})
    assert await without.questions.put(question) is None
    assert without.asked == []


async def test_a_free_question_is_asked_in_the_chat() -> None:
    question = Question("1", "part", "which colour?", detail="the parts so far")
    editor = FakeEditor({})
    assert await editor.questions.put(question) == Answer("from the chat")
    assert editor.chat == ["which colour?\n\nthe parts so far"]


LEAVE = Question(
    "1",
    "approval",
    "may it?",
    options={"once": "", "session": "", "always": "", "no": ""},
    tool="files.write_file",
    calls=(AskedCall("files.write_file", (ShownValue("path", "a.txt", "unknown"),), {}),),
    rules=("files.write_file",),
)


async def test_editors_get_a_button_for_each_kind_and_the_chat_for_the_rest() -> None:
    editor = FakeEditor(chosen("other"))
    assert await editor.questions.put(LEAVE) == Answer("from the chat")
    options = editor.asked[0][1]["options"]
    assert isinstance(options, list)
    assert [each["optionId"] for each in options if isinstance(each, dict)] == [
        *("once", "always", "no", "never", "other")
    ]
    assert "`always files.write_file`" in editor.chat[0]


async def test_who_wants_no_more_questions_about_a_tool_gets_none() -> None:
    editor = FakeEditor(chosen("never"))
    assert await editor.questions.put(LEAVE) == Answer("no")
    assert await editor.questions.put(LEAVE) == Answer("no")
    assert len(editor.asked) == 1
