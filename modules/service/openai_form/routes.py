"""`GET /v1/models` and `POST /v1/chat/completions`: the routes, and a run behind them.

A run belongs to its connection: nobody could ask for it later. It is cancelled when the client goes
away, or does not read what it is sent.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Final

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from config.settings import SettingsError
from core.base.json_text import Json, excess
from core.base.text import did_you_mean, near_names
from core.errors import UserError
from core.events import Event
from core.run.execution import ExecutionContext, current_ids, working
from modules.service.http.app import Extras
from modules.service.http.endpoints.shapes import JSON_TYPE, check_type
from modules.service.http.guard import execution_of, user_of
from modules.service.openai_form.asked import Asked, read_asked
from modules.service.openai_form.errors import (
    PREFIX,
    Refused,
    json_response,
    problem_refused,
    refused_for,
)
from modules.service.openai_form.pictures import read_pictures
from modules.service.openai_form.reply import ClientGone, Reply
from modules.service.openai_form.told import (
    Answer,
    Completion,
    answer_of,
    model_named,
    model_told,
)
from modules.service.pool import AgentPool, User, profile_files
from modules.service.questions import PersonAnswer, PersonQuestion
from modules.service.served.events import EventWords, ended
from modules.service.served.problems import problem_of
from modules.service.served.runs import Runs
from modules.session.brought import Brought

log = logging.getLogger(__name__)


COMPLETIONS: Final = f"{PREFIX}/chat/completions"

BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""A whole conversation, with a picture of 20 MB as Base64."""


def openai_form(runs: Runs) -> Extras:
    """What the HTTP service has to serve; its guard tells all other refusals in this form."""
    models = _Models(runs.pool)
    routes = [
        Route(f"{PREFIX}/models", models.all, methods=["GET"]),
        Route(f"{PREFIX}/models/{{model:path}}", models.one, methods=["GET"]),
        Route(COMPLETIONS, _Completions(runs, models), methods=["POST"]),
    ]
    return Extras(
        routes=routes,
        refusals={f"{PREFIX}/": problem_refused},
        bodies={COMPLETIONS: BODY_BYTES_MAX},
    )


class _Models:
    """The profiles that a user may use, as models."""

    def __init__(self, pool: AgentPool) -> None:
        self._pool = pool

    async def all(self, request: Request) -> Response:
        """The list of them."""
        told = await asyncio.to_thread(self.told, user_of(request))
        return json_response({"object": "list", "data": [*told.values()]})

    async def one(self, request: Request) -> Response:
        """One of them, by its id."""
        id_ = str(request.path_params["model"])
        try:
            told = await asyncio.to_thread(self.told, user_of(request))
            return json_response(told[self.profile_of(id_, told)])
        except Refused as refused:
            return refused.response

    def told(self, user: User) -> dict[str, dict[str, Json]]:
        """How each is told, by profile; reads the disk."""
        files = profile_files(self._pool.setting.shared)
        return {
            name: model_told(name, file.stat().st_mtime if file.exists() else 0)
            for name, file in files.items()
            if user.may_use(name)
        }

    def profile_of(self, id_: str, told: dict[str, dict[str, Json]]) -> str:
        """The profile that a model is.

        Raises:
            Refused: there is none, or it is not for this user.
        """
        names = {model_named(profile): profile for profile in told}
        if id_ in names:
            return names[id_]
        meant = did_you_mean(near_names(id_, names), f"there are: {', '.join(names)}")
        shown = f"there is no model {id_[:80]!r}; {meant}"
        raise Refused(404, shown, "model", "model_not_found")


class _Completions:
    """Answers the last message of a conversation that its client keeps; an ASGI application."""

    def __init__(self, runs: Runs, models: _Models) -> None:
        self._runs = runs
        self._models = models

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then answer as long as somebody is there."""
        request = Request(scope, receive)
        try:
            user = user_of(request)
            asked = await _asked_in(request)
            told = await asyncio.to_thread(self._models.told, user)
            profile = self._models.profile_of(asked.model, told)
        except Refused as refused:
            await refused.response(scope, receive, send)
            return
        execution = execution_of(request).within(profile=profile)
        completion = Completion.of(asked)
        headers = {"traceparent": execution.traceparent, "x-request-id": completion.id}
        redactor = self._runs.pool.setting.redactor
        reply = Reply(scope, receive, send, asked, completion, headers, redactor)
        await _unless_gone(self._tell(user, profile, asked, reply, execution), receive)

    async def _tell(
        self, user: User, profile: str, asked: Asked, reply: Reply, execution: ExecutionContext
    ) -> None:
        """The answer, or why there is none."""
        try:
            with working(execution):
                answer = await reply.following(self._answer(user, profile, asked, reply))
            await reply.end(answer)
        except ClientGone:
            return
        except Refused as refused:
            await reply.fail(refused)
        except Exception as error:
            problem = problem_of(error)
            if problem.kind == "bug":
                log.exception("a bug in Cortex-R; trace %s", execution.trace_id)
            await reply.fail(refused_for(problem))

    async def _answer(self, user: User, profile: str, asked: Asked, reply: Reply) -> Answer:
        """Run the request in its turn.

        Raises:
            Refused: the run could not begin, or failed.
            Busy: no more runs are taken now.
        """
        questions: list[str] = []

        async def put(question: PersonQuestion) -> PersonAnswer | None:
            """Nobody is there: a plan's question is the answer, and all else is not allowed."""
            if question.kind == "question" and conversation.interrupt():
                questions.append(question.text)
                await asyncio.get_running_loop().create_future()  # until the run has ended
            return None

        async with AsyncExitStack() as stack:
            run = await stack.enter_async_context(self._runs.unkept(user, profile))
            try:
                agent = await stack.enter_async_context(self._runs.pool.agent(user, profile))
            except (UserError, SettingsError) as error:
                raise _unusable(asked.model, user, str(error)) from None
            pictures = await asyncio.to_thread(read_pictures, asked)
            conversation = agent.unkept_conversation(put, asked.schema)
            stack.push_async_callback(conversation.aclose)
            words = EventWords(run.id, self._runs.pool.setting.redactor, time.time)

            async def hear(event: Event) -> None:
                reply.hear(event)
                for name, data in words.told(event):
                    run.add(name, data)

            await reply.begin()
            brought = Brought(asked.history, asked.instructions, pictures)
            with run.answered_by(conversation):
                outcome = await conversation.ask(asked.request, hear, brought=brought)
            trace_id, _ = current_ids()
            for name, fields in ended(outcome, None, trace_id):
                run.add(*words.document(name, fields))
        return answer_of(outcome, questions[0] if questions else None, asked, trace_id)


def _unusable(model: str, user: User, why: str) -> Refused:
    """The profile is wrong; who runs the service is told why, and nobody else."""
    log.warning("the model %s can't be used: %s", model, why)
    told = "the model can't be used just now"
    return Refused(503, f"{told}: {why}" if not user.name else f"{told}; ask who runs the service")


async def _asked_in(request: Request) -> Asked:
    """What a request asks; it is read in slices, and looked at in a thread.

    Raises:
        Refused: it can't be answered.
    """
    check_type(request, JSON_TYPE)
    data = await request.body()
    counting = excess(data)
    try:
        while True:
            next(counting)
            await asyncio.sleep(0)
    except StopIteration as counted:
        if counted.value is not None:
            raise Refused(400, f"the body holds {counted.value}; send less") from None
    return await asyncio.to_thread(_read, data)


def _read(data: bytes) -> Asked:
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise Refused(400, f"the body is no JSON: {error}", code="invalid_json") from None
    return read_asked(value)


async def _unless_gone(work: Coroutine[None, None, None], receive: Receive) -> None:
    """Do the work; cancel it when the client goes away, and wait for its end."""
    working_on = asyncio.create_task(work)
    leaving = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({working_on, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        working_on.cancel()
        await asyncio.wait({leaving, working_on})
    if not working_on.cancelled():
        working_on.result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
