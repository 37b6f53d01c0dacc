"""Counts tokens with the vocabulary of a GGUF file, whose weights are not loaded.

The argument is the file; each line on stdin is a text as JSON, answered by a line with its tokens.
"""

import importlib
import json
import sys
from typing import Protocol, cast

from tests.benchmarks.drivers.turns import say


class Vocabulary(Protocol):
    """What is used of `llama_cpp.Llama`."""

    def tokenize(self, text: bytes, add_bos: bool = True) -> list[int]:
        """The numbers of the tokens."""
        ...


def main() -> None:
    """Count until nobody asks any more."""
    llama = importlib.import_module("llama_cpp").Llama
    opened = llama(model_path=sys.argv[1], vocab_only=True, verbose=False)
    vocabulary = cast("Vocabulary", opened)
    for line in sys.stdin:
        text = cast("str", json.loads(line))
        say({"tokens": len(vocabulary.tokenize(text.encode(), add_bos=False))})


if __name__ == "__main__":
    main()
