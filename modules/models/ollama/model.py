"""Models of an Ollama server, over its own HTTP API: no key, no cost, nothing leaves the machine.

Its own API rather than the OpenAI-compatible one, for that has no context length: Ollama's default
is too short for a decision prompt (see `facts.py` beside).
"""

from collections.abc import Mapping

from config.models_file import IDLE_SECONDS, ModelEntry
from core.base.ollama import HOST_VARIABLE, KEY_VARIABLE, checked_address, ollama_address
from core.errors import ConfigurationError
from core.ports import ModelTraits
from modules.models.credentials import ApiKey, key_from_environment
from modules.models.hosted.model import ModelService, RemoteModel
from modules.models.http.errors import Advice, ServiceErrors
from modules.models.ollama.facts import Learned, OllamaFacts, ollama_traits


class OllamaModel(RemoteModel):
    """One model of one Ollama server; what it can do is asked for at the first request."""

    def __init__(
        self,
        entry: ModelEntry,
        environ: Mapping[str, str],
        key: ApiKey | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        errors = ollama_errors(entry, environ, key, idle_seconds)
        super().__init__(f"ollama:{entry.model}", errors)
        self._entry = entry
        self._learned = Learned()

    @property
    def traits(self) -> ModelTraits:
        """What it can do: as the server says once it was asked, else by its name."""
        return ollama_traits(self._entry, self._learned.facts or OllamaFacts())

    def _open(self) -> ModelService:
        from modules.models.ollama.service import OllamaService

        return OllamaService(self._entry, self.errors, self._learned)


def ollama_errors(
    entry: ModelEntry,
    environ: Mapping[str, str],
    key: ApiKey | None = None,
    idle_seconds: float = IDLE_SECONDS,
) -> ServiceErrors:
    """The server at the entry's `base_url`, else where OLLAMA_HOST of `environ` says.

    `key`, that of the entry's own variable, goes with every request; without one, that in
    OLLAMA_API_KEY does to where OLLAMA_HOST says, over https only.

    Raises:
        ConfigurationError: OLLAMA_HOST is no address, or OLLAMA_API_KEY no key.
    """
    if entry.base_url is not None:  # checked where it was read
        address = ollama_address({HOST_VARIABLE: entry.base_url})
    else:
        try:
            address = checked_address(environ)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None
        if address.startswith("https://"):
            key = key or key_from_environment(KEY_VARIABLE, environ)
    advice = Advice(
        unreachable="start Ollama there with: ollama serve (where it is, OLLAMA_HOST or base_url "
        "in config/models.json says), or choose another model with --model",
        unknown=f"get it with: agent.py models pull {entry.model} (or ollama pull {entry.model})",
        no_key=f"set {entry.api_key_env}"
        if entry.api_key_env is not None
        else f"set {KEY_VARIABLE}, which goes to an OLLAMA_HOST with https, or name a variable "
        "as api_key_env in config/models.json",
    )
    subject = f"model ollama:{entry.model}"
    return ServiceErrors(subject, address, advice, key, entry.timeout_seconds, idle_seconds)
