"""`prompt`: what a model would be sent for a request, to the letter; no model is asked."""

import os
from dataclasses import replace

from config.models_file import load_models
from config.schema import AgentProfile
from core.errors import ExitCode
from core.ports import ModelReply, ModelRequest
from core.values import JsonObject
from modules.cli.command import ShowPrompt
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.conversation import Conversation
from modules.model_manager import ModelManager, choose_model
from modules.models.scripted import ScriptedModel
from modules.offline.welcome import asks_for_help
from modules.sandbox import Sandbox
from modules.terminal.waits import Waits


def chosen_model(command: ShowPrompt, around: Surroundings, profile: AgentProfile) -> ModelManager:
    """The model that would be asked. May wait for the keyring: not for within the event loop.

    Raises:
        UserError: the model that is named can't be used.
    """
    models = load_models(around.places.config_file("models.json"))
    verbose, quiet = command.options.verbose, command.options.quiet
    say = around.complaints.say
    waits = Waits(around.stderr, say, os.environ, verbose=verbose, quiet=quiet)
    with waits.during("model", "keys and services that may be there"):
        return choose_model(
            command.model, profile.llm, models, os.environ, around.redactor, home=around.places.home
        )


ASKS_NO_MODEL = "no model is asked for this: it gets the page of agent.py help"


async def show_prompt(
    command: ShowPrompt, chosen: ModelManager, around: Surroundings, profile: AgentProfile
) -> ExitCode:
    """Print the prompts of the request's first step, in the order in which they would be sent.

    Raises:
        UserError: an image that is named can't be used.
    """
    if asks_for_help(command.request):
        await chosen.aclose()
        return around.complaints.fail(ASKS_NO_MODEL, ExitCode.BAD_USAGE)
    # In the model's place stands one that perceives nothing and plans nothing, which ends the run.
    refusal = ModelReply("", declined=True)
    traits = replace(chosen.traits, reads_text=True)
    witness = ScriptedModel({"decision": [refusal]}, chosen.name, traits)
    await chosen.aclose()  # it was never connected: only its name and traits are needed
    display = display_for(around, command.options)
    unkept = profile.memory.model_copy(update={"memory_service": False})
    async with opened(around.servers.specs, around, command.options, display) as dispatcher:
        conversation = Conversation(
            profile.model_copy(update={"memory": unkept}),
            ModelManager(witness),
            dispatcher,
            Sandbox(),
            around.places.home / profile.memory.storage.base_dir,
            display.progress,
        )
        async with conversation:
            await dispatcher.initialize()  # a model has them from the second request on, at least
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
