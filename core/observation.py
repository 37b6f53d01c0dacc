"""What one step hands to the next: text that a tool gave, or what the user said when asked back."""

from core.turn import PlanFailed

OBSERVATION_CHARACTERS = 20_000
"""How much of a step's text the next step sees at most, about 5,000 tokens."""

MIN_OBSERVATION_CHARACTERS = 2_000
"""... and at least, however small the model's context is."""

PROMPT_TOKENS = 4_096
"""What the rest of a prompt, and the reply to it, are taken for."""

CHARACTERS_PER_TOKEN = 3
"""Cautiously: prose in English has four and more, other languages and tables fewer."""

NOBODY_TO_ASK = (
    "Nobody can be asked. Take the likeliest reading of the request, and say in the answer which "
    "one that is."
)
"""What a plan that asks back is told where no user is there."""


def observation_room(context_tokens: int | None) -> int:
    """How many characters of text a prompt has room for, beside all else in it."""
    if context_tokens is None:
        return OBSERVATION_CHARACTERS
    room = (context_tokens - PROMPT_TOKENS) * CHARACTERS_PER_TOKEN
    return max(MIN_OBSERVATION_CHARACTERS, min(room, OBSERVATION_CHARACTERS))


def shorten(text: str, room_characters: int) -> str:
    """The beginning of a text, with how much of it is missing."""
    left_out = len(text) - room_characters
    if left_out <= 0:
        return text
    return f"{text[:room_characters]}… [{left_out} more characters left out]"


def unread_text(result: PlanFailed) -> str | None:
    """The text that the plan's last call gave before the plan failed, if that is text to read.

    A text tool did its work then, and what failed was only what the plan made of it: the model
    can read the text itself.
    """
    last = result.calls[-1] if result.calls else None
    if last is None or not last.ok or not isinstance(last.result, str):
        return None
    text = last.result.strip()
    return text if " " in text or "\n" in text else None


def next_input(request: str, observation: str) -> str:
    """The next step's input: the request with the text that the last step found."""
    return (
        f"Original request: {request}\n\n"
        f"The last step produced this text:\n\n{observation}\n\n"
        "If it answers the request, return FINAL_ANSWER: with the answer in your own words; "
        "otherwise plan the next tool calls."
    )


def clarified_input(request: str, question: str, answer: str | None) -> str:
    """The next step's input after a plan has asked back; `answer` None: nobody could be asked."""
    reply = NOBODY_TO_ASK if answer is None else f"The user answered: {answer}"
    return f"{request}\n\nYou asked back: {question}\n{reply}"
