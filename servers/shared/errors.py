"""The one exception that a tool's own code raises on purpose."""


class ToolInputError(ValueError):
    """The caller's input can't be used.

    The message says what is wrong and what to give instead; it reaches the caller word for word.
    A `ValueError`, so that Pydantic validators may raise it too.
    """
