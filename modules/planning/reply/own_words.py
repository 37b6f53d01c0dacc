"""What in a reply the model says itself: not what it quotes, reports, or refuses to do.

Text that was read comes back in replies, and a block of code in it is somebody else's. How it is
introduced is read here in English alone, and errs on one side: what is taken for another's is not
run, and the model is told so and asked again.
"""

import re
from typing import Final

from core.base.text import lazy_pattern

LOOKED_CHARACTERS: Final = 300
"""So much of the prose before and after a block is looked at."""

_SPEAKER: Final = (
    r"(?:pages?|web\s?site|site|article|document|file|readme|e-?mail|mail|message|letter|note|text"
    r"|comment|post|tool|result|output|server|author|attacker|snippet|passage|source|wiki\w*"
    r"|blog|issue|ticket|review|tutorial|documentation|docs|injection|sender)"
)

_SAYS: Final = (
    r"(?:says?|said|saying|reads?|states?|stated|stating|contains?|contained|containing|suggests?"
    r"|suggested|claims?|claimed|tells?|told|asks?|asked|instructs?|instructed|wrote|writes"
    r"|includes?|included|recommends?|recommended|wants?|wanted|quotes?|holds?|held|goes)"
)

_REPORTED: Final = lazy_pattern(
    rf"""(?xi)
    (?: \b{_SPEAKER}\b [^.!?\n]{{0,60}}? \b{_SAYS}\b
      | (?:^|[.!?]\s+) (?:it|he|she|they) \s+ {_SAYS}\b
      | \b(?:according[ ]to|quot(?:e|es|ed|ing)|cited|excerpt|verbatim|copied[ ]from)\b )
    [^.!?]{{0,80}} \s* \Z
    """
)
"""Somebody else says what stands behind it."""

_OWN: Final = lazy_pattern(
    r"(?i)^\W{0,5}(?:to|let me|(?:this|the|my|here(?:'s| is)?(?: the| a| my)?) "
    r"(?:\w+ )?(?:plan|solution|function|solve))\b|\bI(?:'ll| will| would| now)? (?!quote)\w+\b"
)
"""The model speaks of its own plan."""

_REFUSED: Final = lazy_pattern(
    r"""(?xi)
    \b(?:I|we) \s+
    (?: (?:will|shall|would|must|should)(?:[ ]not|n[\'’]t) | won[\'’]t | refused?[ ]to
      | (?:am|are)[ ]not[ ]going[ ]to | decline[ds]?[ ]to )
    \s+ (?:\w+\s+)?? (?:run|execute|follow|obey|comply|act[ ]on|send|delete|call
      |do[ ](?:that|this|it|so|any)|use[ ](?:that|this|it|the[ ]code))\b
  | \b(?:I|we) \s+ (?:do|did)(?:[ ]not|n[\'’]t) \s+ (?:\w+\s+)??
    (?:follow|obey|comply|trust|act[ ]on)\b
  | \b(?:I|we) \s+ (?:have[ ]|am[ ])? ignor(?:e|ed|ing)\b
  | \bI[\'’]m[ ]not[ ]going[ ]to\b
  | \b(?:I|we) \s+ (?:can(?:not|[\'’]t)|[\'’]?m[ ]unable[ ]to|am[ ](?:unable|not[ ]able)[ ]to)
    \s+ (?:\w+\s+)? (?:help|assist|comply|follow|do[ ](?:that|this|it|so)|fulfil+|support)\b
  | \b(?:do[ ]not|don[\'’]t|never) [ ] (?:run|execute|follow) [ ] (?:it|this|that|the[ ]code|any)\b
    """
)

_DECLINES: Final = lazy_pattern(
    r"""(?xi)
    \A \W{0,10} (?:(?:i[\'’]?m|i[ ]am|we[\'’]re)[ ])? (?:(?:very|so|truly|really)[ ])?
    (?:(?:sorry|apolog\w+|unfortunately|regret\w*|no)\b [^.!?\n]{0,40}?)?
    (?: \b(?:I|we) \s+
        (?: (?:can(?:not|[\'’]t)|won[\'’]t|will[ ]not|(?:am|are)[ ](?:unable|not[ ]able)[ ]to
            |(?:must|have[ ]to)[ ]decline|decline|refuse|(?:am|are)[ ]not[ ]allowed[ ]to)
            \s* (?:to\s+)? (?:\w+\s+)?
            (?:help|assist|comply|do[ ](?:that|this|so|it)|fulfil+|support|engage|participate
              |provide[ ](?:any[ ])?(?:help|assistance|support|instructions|guidance|that|this)
              |(?:create|write|generate|produce|discuss)[ ](?:that|this|such|it|content|any)
              |\Z|[.!,]) )
      | \b(?:this|that|your)[ ]request[ ](?:goes[ ]against|violates|is[ ]against) )
    """
)
"""Begins a reply that declines: "I can't help with that.", "I'm sorry, but I won't do that."."""

DECLINE_CHARACTERS_MAX: Final = 1_500
"""A longer reply says more than that it declines."""


def without_quoted_lines(text: str) -> str:
    """The text without lines behind `>`, but for those inside of a block that is not quoted."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        begun = line.lstrip()
        if not fence and begun.startswith(">") and not begun.startswith(">>>"):
            continue
        marks = begun[: len(begun) - len(begun.lstrip("`~"))]
        if len(marks) >= 3:
            closes = fence and marks.startswith(fence) and not begun[len(marks) :].strip()
            fence = "" if closes else fence or marks[:3]
        kept.append(line)
    return "\n".join(kept)


def is_reported(before: str) -> bool:
    """Whether the prose before a block says that somebody else wrote it."""
    said = before[-LOOKED_CHARACTERS:].rstrip()
    sentence = re.split(r"(?<=[.!?])\s+|\n\s*\n", said)[-1]
    return _REPORTED.search(sentence) is not None and _OWN.search(sentence) is None


def is_refused(after: str) -> bool:
    """Whether the prose behind a block says that it is not to be run."""
    return _REFUSED.search(after[:LOOKED_CHARACTERS]) is not None


def declines(text: str) -> bool:
    """Whether a reply is a refusal and nothing else."""
    return len(text) <= DECLINE_CHARACTERS_MAX and _DECLINES.search(text) is not None
