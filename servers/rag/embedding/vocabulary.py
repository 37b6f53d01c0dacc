"""The vocabulary of BERT's uncased models, which lies beside this file (see `bert/SOURCE.md`)."""

from pathlib import Path

from servers.rag.faults import EmbedderUnavailable

VOCABULARY_FILE = Path(__file__).parent / "bert" / "vocabulary.txt.gz"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""Of the text inside, as Google published it."""

VOCABULARY_BYTES = 231_508


def read_vocabulary(file: Path = VOCABULARY_FILE) -> dict[str, int]:
    """The id of each piece.

    Raises:
        EmbedderUnavailable: the file is missing, or holds another vocabulary.
    """
    import gzip
    import hashlib

    try:
        with gzip.open(file) as packed:
            text = packed.read(VOCABULARY_BYTES + 1)
    except (OSError, EOFError) as error:
        raise EmbedderUnavailable(
            f"the vocabulary {file} can't be read ({type(error).__name__}); install Cortex-R anew"
        ) from None
    if hashlib.sha256(text).hexdigest() != VOCABULARY_SHA256:
        raise EmbedderUnavailable(
            f"the vocabulary {file} is not the one that belongs to the weights; install Cortex-R "
            "anew"
        )
    pieces = text.decode("utf-8").removesuffix("\n").split("\n")
    return {piece: number for number, piece in enumerate(pieces)}
