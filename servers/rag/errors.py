"""What can go wrong in the engine, by who can do something about it; exit codes of `docs`."""

from typing import Final

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOTHING_FOUND: Final = 3
EXIT_INTERRUPTED: Final = 130


class RagError(Exception):
    """Base; the message is one sentence for a person or a model."""


class Refused(RagError):
    """The person, or the model, has to say it otherwise."""


class EmbedderUnavailable(RagError):
    """Vectors can't be computed now; searching by words goes on."""


class IndexUnusable(RagError):
    """The index file can't be opened or written: disk full, no permission, a newer version."""


class OutsideFolders(Refused):
    """A path that lies in none of the configured folders, with the reason."""


class OptionsError(Refused):
    """A setting that can't be used: of another form, or of something that isn't there."""


class VectorsRefused(RagError):
    """Vectors that can't be compared: of another dimension, not finite, not of length 1."""


class VectorsUnavailable(RagError):
    """Vectors can't be looked up now; searching by words goes on. The message names the fix."""


class VectorsSettingError(RagError):
    """The setting `vectors` says something else than what there is."""
