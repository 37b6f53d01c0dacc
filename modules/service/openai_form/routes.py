"""`GET /v1/models` and `POST /v1/chat/completions`: the routes, and a run behind them.

A run belongs to its connection: nobody could ask for it later. It is cancelled when the client goes
away, or does not read what it is sent.
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from config.settings import SettingsError
from core.asking import Question
from core.base.text import did_you_mean, near_names
from core.errors import UserError
from core.events import Event
from core.run.execution import current_ids, working
from core.values import JsonObject
from modules.service.http.app import Extras
from modules.service.http.endpoints.shapes import JSON_TYPE, check_type
from modules.service.http.guard import execution_of, user_of
from modules.service.http.problems import Refused
from modules.service.openai_form.asked import Asked, read_asked
from modules.service.openai_form.completion import (
    Answer,
    answer_of,
    model_named,
    model_told,
)
from modules.service.openai_form.errors import Unfit, error_response, json_response
from modules.service.openai_form.pictures import read_pictures
from modules.service.openai_form.reply import Reply
from modules.service.pool import AgentPool, User
from modules.service.served.problems import Problem
from modules.service.served.runs import Runs
from modules.session.brought import Brought

log = logging.getLogger(__name__)

PREFIX: Final = "/v1/"
"""What lies below it is in OpenAI's form."""

COMPLETIONS: Final = f"{PREFIX}chat/completions"

BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""A whole conversation, with a picture of 20 MB as Base64."""


def openai_form(runs: Runs) -> Extras:
    """What the HTTP service has to serve; its guard tells all other refusals in this form."""

    async def models(request: Request) -> Response:
        told = await asyncio.to_thread(_models, runs.pool, user_of(request))
        return json_response({"object": "list", "data": [*told.values()]})

    async def model(request: Request) -> Response:
        told = await asyncio.to_thread(_models, runs.pool, user_of(request))
        return json_response(told[_profile_of(request.path_params["model"], told)])

    routes = [
        Route(f"{PREFIX}models", models, methods=["GET"]),
        Route(f"{PREFIX}models/{{model:path}}", model, methods=["GET"]),
        Route(COMPLETIONS, _Completions(runs), methods=["POST"]),
    ]
    bodies = {COMPLETIONS: BODY_BYTES_MAX}

    def refuse(problem: Problem) -> Response:
        return error_response(problem, runs.pool.setting.redactor)

    return Extras(routes=routes, refusals={PREFIX: refuse}, bodies=bodies)


def _models(pool: AgentPool, user: User) -> dict[str, JsonObject]:
    """The profiles that a user may use as models, by profile; reads the disk."""
    return {
        name: model_told(name, file.stat().st_mtime if file.exists() else 0)
        for name, file in pool.profiles_of(user).items()
    }


def _profile_of(id_: str, told: dict[str, JsonObject]) -> str:
    """The profile that a model is.

    Raises:
        Unfit: there is none, or it is not for this user.
    """
    names = {model_named(profile): profile for profile in told}
    if id_ in names:
        return names[id_]
    meant = did_you_mean(near_names(id_, names), f"there are: {', '.join(names)}")
    shown = f"there is no model {id_[:80]!r}; {meant}"
    raise Unfit(shown, "model", "model_not_found", "not-found")


class _Completions:
    """Answers the last message of a conversation that its client keeps; an ASGI application."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then answer as long as somebody is there."""
        request = Request(scope, receive)
        check_type(request, JSON_TYPE)
        asked = await asyncio.to_thread(read_asked, await request.body())
        user = user_of(request)
        told = await asyncio.to_thread(_models, self._runs.pool, user)
        profile = _profile_of(asked.body.model, told)
        reply = Reply(asked, self._runs.pool.setting.redactor)
        with working(execution_of(request).within(profile=profile)):
            answering = asyncio.create_task(self._answer(user, profile, asked, reply))
        leaving = asyncio.create_task(_gone(receive))
        leaving.add_done_callback(lambda _: answering.cancel())
        try:
            response = await reply.response(answering)
            await response(scope, receive, send)
        except Refused:
            if not leaving.done():
                raise
        finally:
            leaving.cancel()
            answering.cancel()
            await asyncio.wait({leaving, answering})

    async def _answer(self, user: User, profile: str, asked: Asked, reply: Reply) -> Answer:
        """Run the request in its turn.

        Raises:
            Refused: the run could not begin, or failed.
            Busy: no more runs are taken now.
        """
        questions: list[str] = []

        async def put(question: Question) -> None:
            """Nobody is there: a plan's question is the answer, and all else is not allowed."""
            if question.kind == "question" and conversation.interrupt():
                questions.append(question.text)
                await asyncio.get_running_loop().create_future()  # until the run has ended

        async with AsyncExitStack() as stack:
            run = await stack.enter_async_context(self._runs.unkept(user, profile))
            try:
                agent = await stack.enter_async_context(self._runs.pool.agent(user, profile))
            except (UserError, SettingsError) as error:
                raise _unusable(asked.body.model, user, str(error)) from None
            pictures = await asyncio.to_thread(read_pictures, asked)
            conversation = agent.unkept_conversation(put, asked.schema)
            stack.push_async_callback(conversation.aclose)

            async def hear(event: Event) -> None:
                reply.hear(event)
                await run.hear(event)

            reply.begun.set_result(None)
            brought = Brought(asked.history, asked.instructions, pictures)
            with run.answered_by(conversation):
                outcome = await conversation.ask(asked.request, hear, brought=brought)
            trace_id, _ = current_ids()
            run.end(outcome, trace_id)
        return answer_of(outcome, questions[0] if questions else None, asked, trace_id)


def _unusable(model: str, user: User, why: str) -> Refused:
    """The profile is wrong; who runs the service is told why, and nobody else."""
    log.warning("the model %s can't be used: %s", model, why)
    told = f"the model can't be used just now; {'ask who runs the service' if user.name else why}"
    return Refused("unavailable", told)


async def _gone(receive: Receive) -> None:
    """Wait until the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
