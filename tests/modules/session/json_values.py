"""Values that JSON may be asked to hold, and a reader that knows RFC 8259 and nothing else."""

import json

from hypothesis import strategies as st

from core.values import Json

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
"""Some that it lacks among them, such as infinities and halves of characters."""


def strict_json(data: bytes) -> Json:
    """As a tool reads it that knows RFC 8259 and nothing else."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(data.decode("utf-8"), parse_constant=refuse)
