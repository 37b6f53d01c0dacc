"""The real services: the checks of `tests/real`, where a key or a server is at hand.

Each service costs a dozen short requests. One that is missing is skipped, and says what it wants.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.ports import TextModel
from tests.command_line import environment
from tests.live.services import NAME, LiveService, write_models
from tests.real import model_checks as checks

pytestmark = pytest.mark.timeout(300)


@asynccontextmanager
async def model_of(service: LiveService) -> AsyncGenerator[TextModel]:
    async with checks.built(NAME, service.models(), os.environ) as model:
        yield model


async def test_a_reply_comes_in_pieces_and_its_tokens_are_counted(service: LiveService) -> None:
    async with model_of(service) as model:
        await checks.check_counts(model)


async def test_a_reply_is_held_to_a_schema(service: LiveService) -> None:
    async with model_of(service) as model:
        await checks.check_holds_to_schema(model)


async def test_an_image_is_seen(service: LiveService) -> None:
    async with model_of(service) as model:
        if not model.traits.images:
            pytest.skip(f"{model.name} sees no images")
        await checks.check_sees(model)


async def test_a_reply_is_given_up_at_once_and_the_model_can_be_asked_again(
    service: LiveService,
) -> None:
    async with model_of(service) as model:
        await checks.check_stops(model)


async def test_a_wrong_key_is_told_and_not_shown(service: LiveService) -> None:
    if service.key_variable is None:
        pytest.skip("this service wants no key")
    wrong = "not-a-key-of-this-service-0123456789"
    environ = {**service.environ(os.environ), service.key_variable: wrong}
    async with checks.built(NAME, service.models(), environ) as model:
        await checks.check_wrong_key(model, wrong)


async def test_a_model_that_the_service_does_not_know_is_named(service: LiveService) -> None:
    if not service.knows_models_by_name:
        pytest.skip("this service runs the one model that it has")
    models = service.models(checks.NO_SUCH_MODEL)
    async with checks.built(NAME, models, os.environ) as model:
        await checks.check_unknown_model(model)


def test_a_whole_run_plans_with_the_service_and_answers(
    service: LiveService, tmp_path: Path
) -> None:
    write_models(service, tmp_path)
    env = environment(tmp_path, **service.environ(os.environ))
    checks.check_whole_run(tmp_path, NAME, env)
