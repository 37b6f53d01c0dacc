"""`prompt`: what a model would be sent for a request, to the letter; no model is asked."""

import os
from collections.abc import AsyncGenerator

from config.models_file import Price
from config.schema import AgentProfile
from config.settings import load_models
from core.errors import ExitCode
from core.ports import ModelRequest, ModelTraits, ReplyDelta, ReplyEnd, TextDelta
from core.turn import Usage
from core.values import JsonObject
from modules.commands.command import ShowPrompt
from modules.commands.servers import display_for, opened
from modules.commands.surroundings import Surroundings
from modules.conversation import Conversation
from modules.model_manager import ModelManager, choose_model
from modules.models.serving.chosen import ChosenModel
from modules.sandbox import Sandbox

NOTHING_PERCEIVED = "{}"
"""What perception is answered where the profile asks a model for it: every server may be needed."""


class Witness:
    """Stands in a model's place, keeps what it is asked, and plans nothing."""

    def __init__(self, name: str, traits: ModelTraits) -> None:
        """Pass for the model of that name."""
        self.requests: list[ModelRequest] = []
        self._name = name
        self._traits = traits

    @property
    def name(self) -> str:
        """That of the model."""
        return self._name

    @property
    def traits(self) -> ModelTraits:
        """Those of the model, which decide how images are sent."""
        return self._traits

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """Keep the request; a plan is declined, which ends the run."""
        self.requests.append(request)
        if request.purpose == "decision":
            yield ReplyEnd(Usage(), "refused")
        else:
            yield TextDelta(NOTHING_PERCEIVED)
            yield ReplyEnd(Usage())

    async def aclose(self) -> None:
        """Nothing to release."""


async def show_prompt(command: ShowPrompt, around: Surroundings, profile: AgentProfile) -> ExitCode:
    """Print the prompts of the request's first step, in the order in which they would be sent.

    Raises:
        UserError: the model or an image that is named can't be used.
    """
    models = load_models(around.places.config_file("models.json"))
    chosen = choose_model(
        command.model, profile.llm, models, os.environ, around.redactor, home=around.places.home
    )
    witness = Witness(chosen.name, chosen.traits)
    await chosen.aclose()  # it was never connected: only its name and traits are needed
    manager = ModelManager((ChosenModel(witness, Price(input=0, output=0)),))
    display = display_for(around, command.options)
    unkept = profile.memory.model_copy(update={"memory_service": False})
    async with opened(around.servers.specs, around, command.options, display) as dispatcher:
        conversation = Conversation(
            profile.model_copy(update={"memory": unkept}),
            manager,
            dispatcher,
            Sandbox(),
            around.places.home / profile.memory.storage.base_dir,
            display.progress,
        )
        async with conversation:
            outcome = await conversation.ask(command.request)
    if not witness.requests:  # nothing came of the run before a model was to be asked
        return around.complaints.fail(outcome.message, outcome.exit_code)
    if not command.options.quiet:
        display.progress.say(
            "model", f"{chosen.name} would be asked; {len(witness.requests)} prompt(s)"
        )
    if command.options.json:
        documents: list[JsonObject] = [_document(request) for request in witness.requests]
        around.print_json({"model": chosen.name, "requests": [*documents]})
    else:
        around.print("\n\n".join(_text(request) for request in witness.requests))
    return ExitCode.ANSWERED


def _text(request: ModelRequest) -> str:
    """The two messages of a request under headings, and which images go with them."""
    # A heading stands on a line of its own, whatever is before it.
    system = request.system + "\n" * (request.system[-1:] not in ("", "\n"))
    images = "".join(f"\n── image ── {image.name}" for image in request.images)
    return (
        f"── {request.purpose}: system message ──\n{system}"
        f"── {request.purpose}: user message ──\n{request.user}{images}"
    )


def _document(request: ModelRequest) -> JsonObject:
    return {
        "purpose": request.purpose,
        "system": request.system,
        "user": request.user,
        "images": [image.name for image in request.images],
        "schema": request.schema,
        "temperature": request.temperature,
    }
