"""What can go wrong in the engine, by who can do something about it."""


class RagError(Exception):
    """Base; the message is one sentence for a person or a model."""


class EmbedderUnavailable(RagError):
    """Vectors can't be computed now; searching by words goes on."""


class IndexUnusable(RagError):
    """The index file can't be opened or written: disk full, no permission, a newer version."""


class OutsideFolders(RagError):
    """A path that lies in none of the configured folders, with the reason."""
