"""Many ids as one parameter of a statement, for `json_each`."""

import json
from collections.abc import Sequence


def listed(ids: Sequence[int]) -> str:
    """The ids as JSON."""
    return json.dumps([int(each) for each in ids])
