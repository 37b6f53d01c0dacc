"""Documents whose content is known, made by chance from a seed, the same every time."""

import random
from dataclasses import dataclass
from typing import TypeAlias

WORDS = (
    "harbour", "ledger", "lantern", "copper", "meadow", "signal", "archive", "winter", "garden",
    "engine", "paper", "bridge", "river", "market", "silver", "window", "letter", "station",
    "village", "morning", "copper", "engineer", "receipt", "invoice", "measure", "temperature",
    "pressure", "density", "velocity", "average", "committee", "schedule", "delivery", "contract",
    "repair", "warehouse", "customer", "supplier", "catalogue", "voltage", "membrane", "protein",
    "enzyme", "sample", "Zürich", "Malmö", "café", "naïve", "façade", "über", "größe", "señor",
    "année", "København", "Ærø",
)  # fmt: skip

VERBS = (
    "keeps", "moves", "measures", "lists", "repairs", "replaces", "describes", "delays",
    "improves", "counts",
)  # fmt: skip

CODE_NAMES = ("total", "limit_of", "read_all", "parse_row", "next_value")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences in one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first one the head."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code, with indentation."""

    lines: tuple[str, ...]


Block: TypeAlias = Paragraph | Points | Table | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of level 2 and what stands under it."""

    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A title, which is the heading of level 1, and sections."""

    title: str
    sections: tuple[Section, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """All headings, in order."""
        return (self.title, *(section.heading for section in self.sections))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in order."""
        return tuple(block for section in self.sections for block in section.blocks)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of all tables."""
        tables = (block for block in self.blocks if isinstance(block, Table))
        return tuple(cell for each in tables for row in each.rows for cell in row)

    @property
    def code_lines(self) -> tuple[str, ...]:
        """The lines of all code, with their indentation."""
        codes = (block for block in self.blocks if isinstance(block, Code))
        return tuple(line for each in codes for line in each.lines)

    @property
    def text(self) -> str:
        """All words, without any structure."""
        return "\n".join([*self.headings, *(text_of(block) for block in self.blocks)])


def text_of(block: Block) -> str:
    """The words of a block."""
    match block:
        case Paragraph():
            return block.text
        case Points():
            return "\n".join(block.items)
        case Table():
            return "\n".join(" ".join(row) for row in block.rows)
        case Code():
            return "\n".join(block.lines)


def known_document(seed: int) -> KnownDocument:
    """The document of a seed: two to five sections with two to four blocks each."""
    chance = random.Random(seed)  # noqa: S311 - made text, no secret
    sections = tuple(_section(chance, number) for number in range(1, chance.randint(3, 6)))
    return KnownDocument(f"{_phrase(chance, 3)} {1900 + seed}", sections)


def _section(chance: random.Random, number: int) -> Section:
    makers = [_paragraph, _table, _points, _code, _paragraph]
    count = chance.randint(2, 4)
    blocks = [_paragraph(chance), *(maker(chance) for maker in chance.sample(makers, count - 1))]
    return Section(f"{_phrase(chance, 2)} {number}", tuple(blocks))


def _paragraph(chance: random.Random) -> Paragraph:
    return Paragraph(" ".join(_sentence(chance) for _ in range(chance.randint(2, 5))))


def _points(chance: random.Random) -> Points:
    return Points(tuple(_sentence(chance) for _ in range(chance.randint(2, 4))))


def _table(chance: random.Random) -> Table:
    width = chance.randint(2, 4)
    head = tuple(_phrase(chance, 1) for _ in range(width))
    rows = [
        (
            _phrase(chance, 1),
            *(f"{chance.randint(1, 9_999)}.{chance.randint(1, 9)}" for _ in range(width - 1)),
        )
        for _ in range(chance.randint(2, 6))
    ]
    return Table((head, *rows))


def _code(chance: random.Random) -> Code:
    name, other = chance.sample(CODE_NAMES, 2)
    return Code((f"def {name}(x, y):", f"    if x > {chance.randint(2, 99)}:",
                 f"        return {other}(x - 1)", "    return x + y"))  # fmt: skip


def _sentence(chance: random.Random) -> str:
    words = [*chance.sample(WORDS, 3), chance.choice(VERBS), *chance.sample(WORDS, 5)]
    return f"The {' '.join(words)} {chance.randint(2, 9_999)}."


def _phrase(chance: random.Random, count: int) -> str:
    return " ".join(chance.sample(WORDS, count)).capitalize()
