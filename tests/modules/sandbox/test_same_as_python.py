"""Expressions and small plans as models write them give what the Python outside gives."""

import random

from modules.sandbox import Sandbox
from tests.modules.sandbox.python_corpus import expressions, plans
from tests.modules.sandbox.same_as_python import Sample, differences

SEEDS = (1, 2)

NEWER = "statistics.quantiles("
"""What another version of Python does in another way: one value is enough since 3.13."""


async def test_each_template_gives_what_python_gives() -> None:
    templates = [text for text in (*expressions(), *plans()) if not text.startswith(NEWER)]
    async with Sandbox() as sandbox:
        for seed in SEEDS:
            rng = random.Random(seed)  # noqa: S311 - samples
            found = await differences(sandbox, [Sample.of(text, rng) for text in templates])
            assert found == []
