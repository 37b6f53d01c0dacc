"""Chats: a message is answered by a run, whose events are followed, answered and cancelled."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from core.base.text import one_line
from core.turn import TextInput
from modules.models.serving.account import Budgets, limits_of
from modules.service.http.endpoints.shapes import (
    AnswerRequest,
    ChatRequest,
    RunList,
    RunState,
    sent,
)
from modules.service.http.endpoints.streams import EventStream, last_event_id
from modules.service.http.guard import execution_of, profile_of, user_of
from modules.service.pool import User
from modules.service.questions import PersonAnswer
from modules.service.served.runs import Runs, ServedRun
from modules.session.attached.text_file import variable_name
from modules.session.request import clean_request


class ChatEndpoints:
    """What is asked, and what becomes of it."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def chat(self, request: Request) -> Response:
        """Answer a message; the answer is the stream of the run's events."""
        given, user = await sent(request, ChatRequest), user_of(request)
        message = clean_request(given.message)
        profile = profile_of(request, given.profile)
        await self._check_budgets(user, profile, given.conversation_id)
        run = await self._runs.start(
            user,
            message,
            profile=profile,
            conversation_id=given.conversation_id,
            texts=_texts(given),
            execution=execution_of(request).within(profile=profile),
            max_cost=given.max_cost,
        )
        return EventStream(run, cancels=given.on_disconnect == "cancel")

    async def runs(self, request: Request) -> Response:
        """Those of the user that go on."""
        own = self._runs.active_of(user_of(request))
        found: RunList = {"runs": [state_of(run) for run in own]}
        return JSONResponse(found)

    async def run(self, request: Request) -> Response:
        """How a run is, or ended."""
        return JSONResponse(state_of(await self._found(request)))

    async def events(self, request: Request) -> Response:
        """The events of a run behind the last one that the client has seen, and those to come.

        204 where none will come: a browser's EventSource asks for more until it is told so.
        """
        after, run = last_event_id(request), await self._found(request)
        if run.is_done and run.last_event is not None and after == run.last_event.id:
            return Response(None, 204)
        return EventStream(run, after)

    async def answer(self, request: Request) -> Response:
        """Answer a question of a run."""
        run, given = await self._found(request), await sent(request, AnswerRequest)
        run.answer(given.question_id, PersonAnswer(given.text, given.content, given.declined))
        return Response(None, 204)

    async def cancel(self, request: Request) -> Response:
        """End a run; one that has ended stays as it is."""
        (await self._found(request)).cancel()
        return Response(None, 204)

    async def _check_budgets(self, user: User, profile: str, conversation: str | None) -> None:
        """Refuse at once what would end at once, with a status in place of a stream.

        Raises:
            BudgetSpent: nothing is left to begin with.
            UsageError, SettingsError, StorageError: that can't be known.
        """
        setting = await asyncio.to_thread(self._runs.pool.setting_of, user, profile)
        if limits_of(setting.profile.budgets):
            budgets = Budgets(setting.places.home)
            spent = await budgets.spent(setting.profile, conversation)
            if spent is not None:
                raise spent

    async def _found(self, request: Request) -> ServedRun:
        """The run of that id; in a thread, as it may be read from its file.

        Raises:
            NoSuchRun: the user has none of that id.
        """
        id_: str = request.path_params["id"]
        return await asyncio.to_thread(self._runs.get, user_of(request), id_)


def state_of(run: ServedRun) -> RunState:
    """How a run is."""
    last = run.last_event
    status = "running" if run.has_begun else "queued"
    if run.is_done and last is not None:
        status = str(last.data["status"])
    return {
        "id": run.id,
        "conversation_id": run.conversation_id,
        "profile": run.profile,
        "status": status,  # pyright: ignore[reportReturnType] - as the last event has it
        "last_event": 0 if last is None else last.id,
    }


def _texts(given: ChatRequest) -> tuple[TextInput, ...]:
    """The texts as plans have them; names of files become those of variables."""
    texts: list[TextInput] = []
    for each in given.texts:
        name = variable_name(each.name, [text.name for text in texts])
        texts.append(TextInput(name, each.text, one_line(each.name)))
    return tuple(texts)
