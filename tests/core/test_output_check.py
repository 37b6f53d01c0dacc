"""Which output schemas and results are checked: only what is certain to take little time."""

import pytest

from core.output_check import CHECK_STEPS_MAX, is_cheap_to_check, steps_to_check
from core.values import JsonObject


@pytest.mark.parametrize(
    ("schema", "steps"),
    [
        (None, None),
        ({"type": "object"}, 2),
        ({"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}, 9),
        ({"properties": {"a": {"items": {"pattern": "x"}}}}, None),
        ({"anyOf": [{}, {"$ref": "#"}]}, None),
        ({"enum": [0] * CHECK_STEPS_MAX}, None),
    ],
)
def test_a_schema_counts_its_values_unless_its_cost_is_unknown(
    schema: JsonObject | None, steps: int | None
) -> None:
    assert steps_to_check(schema) == steps


def test_schema_and_value_together_decide_whether_a_check_is_cheap() -> None:
    assert is_cheap_to_check({"a": [1, 2, {"b": None}]}, CHECK_STEPS_MAX // 6)
    assert not is_cheap_to_check({"a": [1, 2, {"b": None}]}, CHECK_STEPS_MAX // 5)
