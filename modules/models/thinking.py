"""Tells a reasoning model's thinking from its reply where both come as one text.

DeepSeek-R1, Qwen3 and their like begin with `<think>…</think>`; others have marks of their own, or
think once more in the middle of a reply. Servers that know the model take that out themselves,
others pass it on. `ThinkingSplitter` sorts a reply's beginning while it comes, for who watches.
`without_thinking` sorts the whole, and what it calls thinking is never run.
"""

import re
from typing import Final, TypeAlias

from core.base.text import lazy_pattern
from core.ports import TextDelta, ThinkingDelta

_TAGS: Final = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|channel>thought": "<channel|>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel|>analysis<|message|>": "<|end|>",
}
"""What thinking opens with at a reply's beginning, and what ends it."""

_THOUGHT: Final = (
    r"(?:[a-z]{1,20}[:_-])?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratch_?pad|analysis"
    r"|planning|(?:inner|internal)_monologue|chain_of_thought|cot|deliberation|rationale)"
    r"(?:[:_-][a-z]{1,20}){0,3}"
)

_MARK: Final = lazy_pattern(
    rf"""(?xi)
      < (?P<slash> /? ) (?P<tag> {_THOUGHT} ) (?: \s [^<>\n]{{0,100}} )? >
    | \[ (?P<bracket> /? ) THINK (?: ING )? \]
    | ◁ (?P<triangle> /? ) think ▷
    | (?P<opens> <\|START_THINKING\|> | <\|begin_of_thought\|> | <\|channel>\s?(?:thought|analysis)
        | <unused94>(?:thought)? | Here[ ]is[ ]my[ ]thought[ ]process: | <\|think\|> )
    | (?P<closes> <\|END_THINKING\|> | <\|end_of_thought\|> | <channel\|> | <unused95>
        | Here[ ]is[ ]my[ ]response: | \[BEGIN[ ]FINAL[ ]RESPONSE\] | <\|/think\|> )
    """
)
"""Opens or closes thinking, as DeepSeek, Qwen, Mistral, Kimi, Seed, Cohere, Gemma, Granite, Apriel
and models that were told to think in tags write it."""

_CHANNEL: Final = lazy_pattern(
    r"(?:<\|start\|>(?P<role>[^<]{0,200}))?"
    r"<\|channel\|>(?P<name>[^<\n]{0,200})(?:<\|constrain\|>[^<\n]{0,50})?(?:<\|message\|>|\n)"
)
"""The head of a message in harmony's form, which gpt-oss writes."""

_CHANNEL_END: Final = lazy_pattern(r"<\|(?:end|return|call|start)\|>")

_RECIPIENT: Final = lazy_pattern(r"\bto=(?P<tool>[\w.-]{1,200})")

_BARE_CHANNELS: Final = lazy_pattern(
    r"\Aanalysis(?P<thought>(?!\s).*?)assistantfinal(?P<said>.*)\Z", re.S
)
"""The same where the server has dropped the marks."""

_MARKS_MAX: Final = 200
"""How many marks of one reply are looked at; a reply with more is taken for thinking."""

_QUOTED_CHARACTERS: Final = 300
"""How far on its line from a mark a quote is looked for."""

_LONG_CHARACTERS: Final = 16 * 1024
"""The same for quotes that go over lines."""

_LONG_QUOTES: Final = ('"""', "'''")

BLANKS_MAX = 256
"""After more blanks no tag is waited for."""

WrittenDelta: TypeAlias = TextDelta | ThinkingDelta


class ThinkingSplitter:
    """Sorts the pieces of one text; every piece is looked at once.

    Thinking is what stands between the tags at the very beginning, blanks before them aside; a
    tag further on is text. Thinking that never ends is thinking to the last.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """With `opened` the text begins within the thinking: the prompt ended with the tag."""
        self._at_start = not opened
        self._end_tag: str | None = "</think>" if opened else None
        self._after_thinking = False
        self._held = ""

    def feed(self, piece: str) -> list[WrittenDelta]:
        """What is certain with this further piece; the beginning of a tag waits for its rest."""
        text, self._held = self._held + piece, ""
        if self._at_start:
            return self._begin(text)
        if self._end_tag is not None:
            return self._think(text, self._end_tag)
        return self._write(text)

    def end(self) -> list[WrittenDelta]:
        """What still waited when the text ended; nothing may be fed after that."""
        rest, self._held = self._held, ""
        if not rest:
            return []
        return [ThinkingDelta(rest) if self._end_tag is not None else TextDelta(rest)]

    def _begin(self, text: str) -> list[WrittenDelta]:
        start = text.lstrip()
        for tag, end_tag in _TAGS.items():
            if start.startswith(tag):
                self._at_start, self._end_tag = False, end_tag
                return self._think(start[len(tag) :], end_tag)
        if len(text) <= BLANKS_MAX and any(tag.startswith(start) for tag in _TAGS):
            self._held = text
            return []
        self._at_start = False
        return self._write(text)

    def _think(self, text: str, end_tag: str) -> list[WrittenDelta]:
        thought, found, rest = text.partition(end_tag)
        if found:
            self._end_tag, self._after_thinking = None, True
            return [*([ThinkingDelta(thought)] if thought else []), *self._write(rest)]
        held = _begun(text, end_tag)
        self._held = text[len(text) - held :]
        sure = text[: len(text) - held]
        return [ThinkingDelta(sure)] if sure else []

    def _write(self, text: str) -> list[WrittenDelta]:
        if self._after_thinking:  # the blank lines between thinking and reply belong to neither
            text = text.lstrip()
            self._after_thinking = not text
        return [TextDelta(text)] if text else []


def without_thinking(text: str) -> tuple[str, str]:
    """What a whole text says, and what is thinking in it; without marks the text as it is.

    A mark that closes what none has opened ends thinking that began with the text: servers that
    put the first mark into the prompt leave it out. Thinking that never ends is thinking to the
    last. Marks in quotes are somebody's words about marks. Whatever is doubtful is thinking: a
    draft in it is no plan.
    """
    head = _CHANNEL.search(text)
    if head is not None and not _is_quoted(text, head, long=True):
        return _of_channels(text)
    if (bare := _BARE_CHANNELS.match(text)) is not None:
        return bare["said"].strip(), bare["thought"]
    said: list[str] = []
    thought: list[str] = []
    at, thinks, quoted_opening = 0, False, False
    for count, mark in enumerate(_MARK.finditer(text)):
        if count == _MARKS_MAX:
            return "", text
        slashes = (mark["slash"], mark["bracket"], mark["triangle"])
        opens = mark["opens"] is not None or (mark["closes"] is None and "/" not in slashes)
        needs_opening = mark["closes"] is not None and mark["closes"].startswith("Here")
        if thinks == opens and (opens or needs_opening):
            continue
        if not thinks and _is_quoted(text, mark, long=opens or quoted_opening):
            quoted_opening = opens
            continue
        piece, at = text[at : mark.start()], mark.end()
        if opens:
            said.append(piece)
        elif thinks:
            thought.append(piece)
        else:
            thought += [*said, piece]
            said.clear()
        thinks = opens
    if not at:
        return text, ""
    (thought if thinks else said).append(text[at:])
    return "".join(said).strip(), "\n".join(filter(None, map(str.strip, thought)))


def _is_quoted(text: str, mark: re.Match[str], *, long: bool) -> bool:
    """Whether quotes stand around a mark: on its line, or `long` ones on others."""
    start, end = mark.span()
    line_start = max(text.rfind("\n", 0, start) + 1, start - _QUOTED_CHARACTERS)
    before = text[line_start:start]
    after = text[end : end + _QUOTED_CHARACTERS].partition("\n")[0]
    for quote in "\"`'":
        # An apostrophe between letters is none.
        marks = re.findall(rf"(?<!\w){quote}|{quote}(?!\w)" if quote == "'" else quote, before)
        if len(marks) % 2 and quote in after:
            return True
    return long and any(
        text.count(q, max(start - _LONG_CHARACTERS, 0), start) % 2 and q in text[end:]
        for q in _LONG_QUOTES
    )


def _of_channels(text: str) -> tuple[str, str]:
    """What harmony's messages say: the channel `final`, and calls to tools as JSON.

    What stands in `commentary` without a tool is told to the user; it is no plan.
    """
    said: list[str] = []
    thought: list[str] = []
    at = 0
    for _ in range(_MARKS_MAX):
        if (head := _CHANNEL.search(text, at)) is None:
            break
        said.append(text[at : head.start()] if at == 0 else "")
        end = _CHANNEL_END.search(text, head.end())
        further = text.find("<|channel|>", head.end())
        ends = [place for place in (end.start() if end else -1, further) if place >= 0]
        stop = min(ends, default=len(text))
        words = (head["name"] or "").split()
        body = text[head.end() : stop]
        recipient = _RECIPIENT.search(f"{head['role'] or ''} {head['name']}")
        if words[:1] == ["analysis"]:
            thought.append(body)
        elif recipient is not None:
            name = recipient["tool"].removeprefix("functions.")
            said.append(f'\n{{"name": "{name}", "arguments": {body.strip() or "{}"}}}\n')
        else:
            (said if words[:1] == ["final"] else thought).append(body)
        at = stop
    return "".join(said).strip(), "\n".join(filter(None, map(str.strip, thought)))


def _begun(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    longest = min(len(text), len(tag) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(tag[:n])), 0)
