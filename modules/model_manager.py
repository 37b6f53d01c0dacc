"""Chooses a model backend, and asks it with bounds on time and size."""

import asyncio
import os
from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never

from config.schema import ModelEntry, ModelsFile
from core.errors import ConfigurationError, ModelUnavailable, UsageError, UserError
from core.ports import ModelReply, ModelRequest, TextModel
from core.turn import Usage
from modules.models.scripted import ScriptedModel
from modules.redaction import Redactor

GENERATE_TIMEOUT_SECONDS = 120.0
"""Bound on one request to any backend."""

MAX_REPLY_CHARS = 1_000_000
"""Longest reply that is accepted; a plan has some thousand characters."""

DEFAULT_GEMINI_MODEL = "gemini-2.5-flash"
GEMINI_KEY = "GEMINI_API_KEY"
GOOGLE_KEY = "GOOGLE_API_KEY"
"""Google's older name for the same key; other Google services use it as well, so it is never a
reason to choose Gemini, but it is taken when Gemini was asked for."""

FORMS = "auto, offline, gemini, gemini:MODEL, scripted:FILE"
"""What may stand behind `--model` besides the names in models.json."""

_Origin: TypeAlias = Literal["--model", "llm.text_generation in the profile"]


class ModelManager:
    """The model that answers, what it has used so far, and why it was chosen.

    Satisfies `core.ports.CountingModel`. Without arguments it chooses automatically, by the
    environment of the process and without a models.json.
    """

    def __init__(
        self,
        model: TextModel | None = None,
        reason: str | None = None,
        *,
        redactor: Redactor | None = None,
        timeout_seconds: float = GENERATE_TIMEOUT_SECONDS,
    ) -> None:
        """Take a model as it is, or choose one.

        Raises:
            ConfigurationError: the environment's Gemini key can't be one.
        """
        if model is None:
            model, reason = select_model(None, "auto", built_in_models(), os.environ)
            redactor = redactor or Redactor(os.environ)
        self.model = model
        self.reason = reason or f"{model.name}: given by the program"
        self.usage = Usage()
        self._redactor = redactor or Redactor({})
        self._timeout_seconds = timeout_seconds

    @property
    def name(self) -> str:
        """The model's name, such as `gemini:gemini-2.5-flash` or `offline`."""
        return self.model.name

    @property
    def leftover(self) -> int:
        """Replies of a script that nobody asked for; 0 with every other model."""
        return self.model.leftover if isinstance(self.model, ScriptedModel) else 0

    async def generate_text(self, prompt: str) -> str:
        """The model's text for a prompt.

        Raises:
            ModelUnavailable: see `generate`.
        """
        return (await self.generate(ModelRequest("text", prompt))).text

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Answer one request, and add what it took to `usage`.

        Raises:
            ModelUnavailable: the model is down, refused, was too slow or would not stop.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await self.model.generate(request)
        except TimeoutError:
            raise ModelUnavailable(
                f"model {self.name} did not answer within {self._timeout_seconds:g} s; "
                "try again, or choose another with --model"
            ) from None
        except ModelUnavailable as error:
            # A cause could hold what the redactor takes out.
            raise ModelUnavailable(self._redactor.text(str(error))) from None
        self.usage += reply.usage
        if len(reply.text) > MAX_REPLY_CHARS:
            raise ModelUnavailable(
                f"model {self.name} sent {len(reply.text):,} characters, more than the "
                f"{MAX_REPLY_CHARS:,} that a reply may have; choose another with --model"
            )
        return reply

    async def aclose(self) -> None:
        """Release the model's connections; safe to call twice."""
        await self.model.aclose()


def built_in_models() -> ModelsFile:
    """What models.json says by default."""
    return ModelsFile(
        models={
            "gemini": ModelEntry(type="gemini", model=DEFAULT_GEMINI_MODEL, api_key_env=GEMINI_KEY),
            "offline": ModelEntry(type="offline"),
        }
    )


def choose_model(
    flag: str | None,
    profile_choice: str,
    models: ModelsFile,
    environ: Mapping[str, str],
    redactor: Redactor | None = None,
) -> ModelManager:
    """The manager of the model that `select_model` finds.

    `redactor`, by default one that knows the secrets of `environ`, goes over its errors.

    Raises:
        UserError: see `select_model`.
    """
    model, reason = select_model(flag, profile_choice, models, environ)
    return ModelManager(model, reason, redactor=redactor or Redactor(environ))


def select_model(
    flag: str | None, profile_choice: str, models: ModelsFile, environ: Mapping[str, str]
) -> tuple[TextModel, str]:
    """The model and one line that says which and why: `--model`, else the profile, else auto.

    A choice is a name in models.json or one of `FORMS`. `auto` means Gemini if there is a key
    for it in `environ`, else offline.

    Raises:
        UsageError: `--model` names nothing that is known, or a script that can't be read.
        ConfigurationError: the profile does, or the key of the chosen model is missing.
    """
    if flag is not None:
        choice, origin = flag.strip(), "--model"
    else:
        choice, origin = profile_choice.strip(), "llm.text_generation in the profile"
    if choice == "auto":
        return _automatic(models, environ)
    model = _named(choice, models, environ)
    if model is None:
        raise _unknown(choice, origin, models)
    return model, f"{model.name}: chosen by {origin}"


def _automatic(models: ModelsFile, environ: Mapping[str, str]) -> tuple[TextModel, str]:
    entries = [entry for entry in models.models.values() if entry.type == "gemini"]
    for entry in [*entries, built_in_models().models["gemini"]]:
        variable = entry.api_key_env or GEMINI_KEY
        if variable != GOOGLE_KEY and environ.get(variable, "").strip():
            model = _from_entry(entry, environ)
            return model, f"{model.name}: {variable} is set"
    from modules.models.offline import OfflineModel

    reason = (
        f"{GOOGLE_KEY} alone does not choose Gemini, --model gemini does"
        if environ.get(GOOGLE_KEY, "").strip()
        else f"{GEMINI_KEY} is not set"
    )
    model = OfflineModel()
    return model, f"{model.name}: {reason}"


def _named(choice: str, models: ModelsFile, environ: Mapping[str, str]) -> TextModel | None:
    """The model that a name or form means; None if it means nothing."""
    if (entry := models.models.get(choice)) is not None:
        return _from_entry(entry, environ)
    kind, _, rest = choice.partition(":")
    if kind == "scripted" and rest:
        return ScriptedModel.from_file(rest)
    if kind == "gemini" and rest:
        return _from_entry(_gemini_entry(models).model_copy(update={"model": rest}), environ)
    if choice == "gemini":
        return _from_entry(_gemini_entry(models), environ)
    if choice == "offline":
        return _from_entry(ModelEntry(type="offline"), environ)
    return None


def _gemini_entry(models: ModelsFile) -> ModelEntry:
    """The entry whose key `gemini:MODEL` uses."""
    entry = models.models.get("gemini")
    if entry is not None and entry.type == "gemini":
        return entry
    return built_in_models().models["gemini"]


def _from_entry(entry: ModelEntry, environ: Mapping[str, str]) -> TextModel:
    match entry.type:
        case "gemini":
            from modules.models.gemini import GeminiModel

            variable, key = _api_key(entry.api_key_env or GEMINI_KEY, environ)
            return GeminiModel(entry.model or DEFAULT_GEMINI_MODEL, key, key_name=variable)
        case "offline":
            from modules.models.offline import OfflineModel

            return OfflineModel()
        case _:
            assert_never(entry.type)


def _api_key(variable: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The variable that holds a key, and the key.

    Raises:
        ConfigurationError: it is not set, or holds what can't go into a request header.
    """
    names = [variable, GOOGLE_KEY] if variable == GEMINI_KEY else [variable]
    for name in names:
        if key := environ.get(name, "").strip():
            if not key.isascii() or not key.isprintable() or " " in key:
                raise ConfigurationError(
                    f"{name} can't be a key: it holds characters other than ASCII letters, digits "
                    "and signs; copy the key once more from https://aistudio.google.com/apikey"
                )
            return name, key
    raise ConfigurationError(
        f"Gemini needs a key: set {variable} (get one at https://aistudio.google.com/apikey), "
        "or use --model offline"
    )


def _unknown(choice: str, origin: str, models: ModelsFile) -> UserError:
    message = (
        f"{origin}: there is no model {choice[:200]!r}; "
        f"models.json has {', '.join(sorted(models.models)) or 'none'}; "
        f"besides these you can say {FORMS}"
    )
    return UsageError(message) if origin == "--model" else ConfigurationError(message)
