"""`prompt`: what a model would be sent for a request, to the letter; no model is asked."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from config.schema import AgentProfile, BudgetsSection
from core.errors import ExitCode
from core.ports import ModelReply, ModelRequest
from core.values import Json, JsonObject
from modules.cli.composition import guide_for, opened
from modules.cli.parser import add_instructions_option, command_parser, read_words
from modules.cli.surroundings import Options, Surroundings
from modules.conversation import Conversation
from modules.model_manager import ModelManager, choose_model
from modules.models.offline.welcome import asks_for_help
from modules.models.scripted import ScriptedModel
from modules.planning.by_hand import Unkept
from modules.sandbox import Sandbox
from modules.team.choosing import choose_action
from modules.team.entry import TeamEntry

_HELP = """\
Show what a model would be sent for a request, to the letter: the prompts of the first step, each
as the two messages that chat models get. No model is asked, no tool is called, nothing is kept.

Where the request shows parts that are independent of each other, the first prompt asks whether it
should be answered in parts (strategy.graph in the profile).

What is above the user message is the same for every request with the same tools, so that
providers' caches hold. Perception's prompt stands first where the profile asks a model for it.
With --json it is one object: model, and requests with purpose, system, user, images, schema and
temperature.

examples:
  agent.py prompt --show "what is 17 times 23?"
  agent.py prompt "what is in @photo.png?" --model gemini
  agent.py prompt "17 times 23" --json | jq -r .requests[0].user"""

ASKS_NO_MODEL = "no model is asked for this: it gets the page of agent.py help"


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `prompt`; raises as `read_words`."""
    parser = command_parser(program, "prompt", _HELP)
    parser.add_argument("request", metavar="REQUEST", nargs="+", help="as it would be typed")
    parser.add_argument(
        "--show", action="store_true", help="print the prompts, which is what is done anyway"
    )
    parser.add_argument("--model", metavar="NAME", help="the model that would be asked")
    add_instructions_option(parser)
    parser.set_defaults(run=show_prompt)
    return read_words(parser, words)


def show_prompt(around: Surroundings) -> ExitCode:
    """Print the prompts of the request's first step, in the order in which they would be sent.

    Raises:
        UserError: the model that is named, or an image, can't be used.
    """
    around.tell_notes(to_users=True)
    # Chosen before the event loop starts: Ctrl-C ends a wait for the keyring at once here.
    chosen = chosen_model(around, around.options.model)
    return around.run(_show_prompt(" ".join(around.options.request), chosen, around))


async def _show_prompt(request: str, chosen: ModelManager, around: Surroundings) -> ExitCode:
    profile = around.profile
    if asks_for_help(request):
        await chosen.aclose()
        return around.complaints.fail(ASKS_NO_MODEL, ExitCode.BAD_USAGE)
    # In the model's place stands one that perceives nothing and plans nothing, which ends the run.
    refusal = ModelReply("", declined=True)
    traits = replace(chosen.traits, reads_text=True)
    action = choose_action(request, profile.strategy.graph, reads_text=True).action
    refusals = [refusal] * (2 if action == "graph" else 1)  # of a graph, then of a plan
    witness = ScriptedModel({"decision": refusals}, chosen.name, traits)
    await chosen.aclose()  # it was never connected: only its name and traits are needed
    free = profile.model_copy(update={"budgets": BudgetsSection()})  # nothing is spent
    async with conversing(around, ModelManager(witness), free, as_asked=True) as conversation:
        outcome = await conversation.ask(request, by_hand=Unkept())
    if not witness.requests:  # nothing came of the run before a model was to be asked
        return around.complaints.fail(outcome.message, outcome.exit_code)
    around.remark("model", f"{chosen.name} would be asked; {len(witness.requests)} prompt(s)")
    documents: list[Json] = [_document(request) for request in witness.requests]
    text = "\n\n".join(map(_text, witness.requests))
    return around.report({"model": chosen.name, "requests": documents}, text)


def chosen_model(around: Surroundings, name: str | None) -> ModelManager:
    """The model of that name, else the one that would answer; keyrings and services may take time.

    Raises:
        SettingsError: models.json can't be used.
        UserError: none can be chosen.
    """
    with around.waits().during("model", "keys and services that may be there"):
        profile, places = around.profile, around.places
        return choose_model(
            name,
            profile.llm,
            places,
            around.environ,
            around.redactor,
            idle_seconds=profile.models.idle_seconds,
        )


@asynccontextmanager
async def conversing(
    around: Surroundings, model: ModelManager, profile: AgentProfile, *, as_asked: bool = False
) -> AsyncGenerator[Conversation]:
    """A conversation without the memory, about which nothing is kept but what it spends.

    With `as_asked`, it is as it would be for the request: it knows facts, earlier sessions and
    workflows. Who asks has to keep nothing.
    """
    places = around.places
    async with opened(around.servers.specs, around) as (dispatcher, display):
        conversation = Conversation(
            profile if as_asked else profile.without_memory(),
            places,
            model,
            dispatcher,
            Sandbox(),
            display.progress,
            redactor=around.redactor,
            guide=None if around.options.no_instructions else guide_for(places, display.questions),
            team=TeamEntry(home=places.home) if as_asked else None,
        )
        async with conversation:
            yield conversation


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
