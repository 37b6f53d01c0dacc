"""Chats: a message is answered by a run, whose events are followed, answered and cancelled."""

import asyncio

from starlette.requests import Request

from core.base.text import one_line
from core.turn import TextInput
from modules.models.serving.account import Budgets, limits_of
from modules.service.http.endpoints.shapes import (
    AnswerRequest,
    ChatRequest,
    EventsQuery,
    RunList,
    RunState,
    queried,
    sent,
)
from modules.service.http.endpoints.streams import EVENTS_TYPE, EventStream
from modules.service.http.endpoints.table import Answered, Endpoint, Service
from modules.service.http.guard import execution_of, profile_of, user_of
from modules.service.pool import User
from modules.service.served.runs import ServedRun
from modules.session.attached.text_file import variable_name
from modules.session.request import clean_request


@Endpoint(
    "POST",
    "/chat",
    body=ChatRequest,
    answer_type=EVENTS_TYPE,
    problems=("budget-spent", "conversation-busy", "too-many-requests", "unavailable"),
)
async def _chat(service: Service, request: Request) -> Answered:
    """Answers a message.

    The answer is the stream of the run's events; `X-Run-Id` names the run.
    """
    given, user = await sent(request, ChatRequest), user_of(request)
    message = clean_request(given.message)
    profile = profile_of(request, given.profile)
    await _check_budgets(service, user, profile, given.conversation_id)
    run = await service.runs.start(
        user,
        message,
        profile=profile,
        conversation_id=given.conversation_id,
        texts=_texts(given),
        execution=execution_of(request).within(profile=profile),
        max_cost=given.max_cost,
    )
    return EventStream(run, cancels=given.on_disconnect == "cancel")


@Endpoint("GET", "/runs", answer=RunList)
async def _runs(service: Service, request: Request) -> Answered:
    """Your runs that go on."""
    return {"runs": [state_of(run) for run in service.runs.active_of(user_of(request))]}


@Endpoint("GET", "/runs/{id}", answer=RunState, problems=("not-found",))
async def _run(service: Service, request: Request) -> Answered:
    """How a run is, or ended."""
    return state_of(await _found(service, request))


@Endpoint(
    "GET",
    "/runs/{id}/events",
    query=EventsQuery,
    answer_type=EVENTS_TYPE,
    problems=("not-found",),
)
async def _events(service: Service, request: Request) -> Answered:
    """The events of a run behind the last one that was seen, and those to come.

    204 where none will. A run that a killed service left ends as `interrupted`.
    """
    seen = queried(request, EventsQuery)
    run, after = await _found(service, request), seen.last_event_id or seen.after
    if run.is_done and run.last_event is not None and after == run.last_event.id:
        return None  # a browser's EventSource would come back for ever
    return EventStream(run, after)


@Endpoint("POST", "/runs/{id}/answer", body=AnswerRequest, status=204, problems=("not-found",))
async def _answer(service: Service, request: Request) -> Answered:
    """Answers a question of a run (`clarify.request`)."""
    run, given = await _found(service, request), await sent(request, AnswerRequest)
    run.answer(given.question_id, given.answer)


@Endpoint("DELETE", "/runs/{id}", status=204, problems=("not-found",))
async def _cancel(service: Service, request: Request) -> Answered:
    """Cancels a run; nothing, if it has ended."""
    (await _found(service, request)).cancel()


ENDPOINTS = (_chat, _runs, _run, _events, _answer, _cancel)


async def _check_budgets(
    service: Service, user: User, profile: str, conversation: str | None
) -> None:
    """Refuse at once what would end at once, with a status in place of a stream.

    Raises:
        BudgetSpent: nothing is left to begin with.
        UsageError, SettingsError, StorageError: that can't be known.
    """
    setting = await asyncio.to_thread(service.pool.setting_of, user, profile)
    if limits_of(setting.profile.budgets):
        spent = await Budgets(setting.places.home).spent(setting.profile, conversation)
        if spent is not None:
            raise spent


async def _found(service: Service, request: Request) -> ServedRun:
    """The run of that id; in a thread, as it may be read from its file.

    Raises:
        NoSuchRun: the user has none of that id.
    """
    id_: str = request.path_params["id"]
    return await asyncio.to_thread(service.runs.get, user_of(request), id_)


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
