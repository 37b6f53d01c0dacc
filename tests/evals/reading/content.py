"""Main texts of pages, made by chance from a seed, the same every time.

Sentences are put together from openings, subjects, deeds and ends, so that they have the little
words and the lengths of prose, by which libraries tell text from what stands around it.
"""

import random
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["article", "documentation", "forum", "table", "blog", "list"]
KINDS: tuple[Kind, ...] = ("article", "documentation", "forum", "table", "blog", "list")

OPENINGS = (
    "According to the council,", "For most of the year", "When the tide turned,", "As a rule",
    "In the words of one engineer,", "Since the bridge was closed", "After two dry summers",
    "To the surprise of many,", "On the second morning", "By the end of the week",
    "Where the old road meets the canal,", "Before the first snow", "If nothing else changes,",
)  # fmt: skip
SUBJECTS = (
    "the harbour master", "a group of volunteers", "the smaller of the two mills",
    "each of the shepherds", "the new ferry", "the keeper of the archive", "most of the visitors",
    "the committee for the fair", "a retired teacher from Møre", "the bakery on the square",
    "the team that repairs the lighthouse", "the owner of the vineyard", "nobody in the village",
)  # fmt: skip
DEEDS = (
    "had counted the boats twice before the list was sent to the ministry",
    "expects that the cost of the repair will be shared among the three parishes",
    "wrote a long letter about the smell of the river and the colour of its water",
    "kept the lamps burning through the night because the fog would not lift",
    "measured the depth of the channel and found it a metre less than on the chart",
    "sold the last of the apples to a school that had asked for them in the spring",
    "would rather close the gate for a month than let the lorries through again",
    "has learned to tell the age of a rope by the sound it makes under load",
    "turned the empty station into a place where people can borrow tools for a day",
    "agreed to publish the figures, though not the names that stand behind them",
)  # fmt: skip
ENDS = (
    "as far as anyone can tell.", "and nobody has asked for the money back.",
    "which is more than in any year since the flood.", "while the rest of the coast waited.",
    "though the papers told it another way.", "so that the work could begin in May.",
    "and that was the end of the matter.", "in spite of the rain and the early dark.",
    "because it was cheaper than to build a second one.", "or so the story goes.",
)  # fmt: skip
TOPICS = (
    "harbour", "ferry", "archive", "orchard", "lighthouse", "railway", "vineyard", "canal",
    "observatory", "bakery", "quarry", "reservoir",
)  # fmt: skip
THINGS = (
    "budget", "opening hours", "repairs", "timetable", "volunteers", "history", "maps", "tools",
    "prices", "weather", "safety", "visitors",
)  # fmt: skip
NAMES = ("Ada Lindqvist", "Bram Oyelaran", "Chiara Novák", "Deniz Faber", "Edda Moreau", "Finn Ito")
VERBS = ("open", "close", "read", "move", "count", "merge", "split", "sort")


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the text: `parts` are words of a heading or paragraph, items, cells or lines."""

    shape: Literal["heading", "paragraph", "items", "rows", "code", "quote", "post"]
    parts: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """All its words."""
        return "\n".join(" ".join(row) for row in self.parts)


@dataclass(frozen=True, slots=True)
class MainText:
    """What a reader of the page came for."""

    kind: Kind
    title: str
    author: str
    date: str
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All its words; the title's too."""
        return "\n".join([self.title, *(block.text for block in self.blocks)])


class Writer:
    """Writes by chance."""

    def __init__(self, seed: str) -> None:
        """The same seed writes the same."""
        self.chance = random.Random(seed)  # noqa: S311 - made text, no secret

    def sentence(self) -> str:
        """One of some ten thousand."""
        pick = self.chance.choice
        return f"{pick(OPENINGS)} {pick(SUBJECTS)} {pick(DEEDS)} {pick(ENDS)}"

    def prose(self, least: int, most: int) -> str:
        """Some sentences."""
        return " ".join(self.sentence() for _ in range(self.chance.randint(least, most)))

    def title(self) -> str:
        """Of a page or a section."""
        pick = self.chance.choice
        verb = pick(("needs", "shows", "keeps"))
        return f"{pick(('What', 'How', 'Why'))} the {pick(TOPICS)} {verb} {pick(THINGS)}"

    def paragraph(self) -> Block:
        """A paragraph of two to five sentences."""
        return Block("paragraph", ((self.prose(2, 5),),))

    def heading(self) -> Block:
        """A heading of a section."""
        return Block("heading", ((self.title(),),))

    def items(self, least: int, most: int, *, is_long: bool = False) -> Block:
        """A list of short things, or of a sentence each."""
        count = self.chance.randint(least, most)
        short = (f"{self.chance.choice(TOPICS)} {self.chance.choice(THINGS)}" for _ in range(count))
        return Block(
            "items",
            tuple((f"{each}: {self.sentence()}" if is_long else each,) for each in short),
        )

    def rows(self, least: int, most: int) -> Block:
        """A table with a head of four columns."""
        body = tuple(
            (
                f"{self.chance.choice(TOPICS)} {number}",
                str(self.chance.randint(10, 9999)),
                f"{self.chance.random() * 100:.1f} %",
                self.chance.choice(THINGS),
            )
            for number in range(1, self.chance.randint(least, most) + 1)
        )
        return Block("rows", (("Place", "Visits", "Share", "Remark"), *body))

    def code(self) -> Block:
        """A few lines of code."""
        verb, topic = self.chance.choice(VERBS), self.chance.choice(TOPICS)
        lines = (
            f"from {topic} import {verb}_all",
            "",
            f"def {verb}_{topic}(path, limit={self.chance.randint(2, 90)}):",
            f"    rows = {verb}_all(path)",
            "    return [row for row in rows if row.size < limit]",
        )
        return Block("code", tuple((line,) for line in lines))

    def post(self) -> Block:
        """What somebody says in a thread."""
        return Block("post", tuple((self.prose(1, 4),) for _ in range(self.chance.randint(1, 3))))


def main_text(kind: Kind, seed: str) -> MainText:
    """The text of a page of a kind."""
    writer = Writer(f"{kind}-{seed}")
    blocks = _blocks(kind, writer)
    pick = writer.chance
    date = f"20{pick.randint(15, 25)}-{pick.randint(1, 12):02}-{pick.randint(1, 28):02}"
    return MainText(kind, writer.title(), pick.choice(NAMES), date, tuple(blocks))


def _blocks(kind: Kind, writer: Writer) -> list[Block]:
    chance = writer.chance
    paragraphs = [writer.paragraph() for _ in range(chance.randint(4, 9))]
    match kind:
        case "article":
            quote = Block("quote", ((writer.prose(1, 2),),))
            return [*paragraphs[:2], quote, writer.heading(), *paragraphs[2:]]
        case "blog":
            return [
                paragraphs[0],
                writer.heading(),
                *paragraphs[1:3],
                writer.items(3, 6),
                writer.heading(),
                *paragraphs[3:],
            ]
        case "documentation":
            blocks: list[Block] = []
            for each in paragraphs[: chance.randint(3, 5)]:
                blocks += [writer.heading(), each, writer.code()]
            return [*blocks, writer.items(3, 6, is_long=True), writer.rows(3, 5)]
        case "forum":
            return [writer.post() for _ in range(chance.randint(4, 8))]
        case "table":
            return [paragraphs[0], writer.rows(8, 25), writer.heading(), writer.rows(5, 9)]
        case "list":
            return [paragraphs[0], writer.items(8, 15, is_long=chance.random() < 0.5)]
