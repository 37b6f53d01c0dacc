"""What can go wrong with vectors, by who can do something about it."""

from servers.rag.errors import RagError


class VectorsRefused(RagError):
    """Vectors that can't be compared: of another dimension, not finite, not of length 1."""


class VectorsUnavailable(RagError):
    """Vectors can't be looked up now; searching by words goes on. The message names the fix."""


class VectorsSettingError(RagError):
    """The setting `vectors` says something else than what there is."""
