"""The part of a plan that sums up a page by its own sentences.

A sentence says the more, the more sentences share its words (Luhn, "The Automatic Creation of
Literature Abstracts", 1958), with more weight for words of headings and for sentences that open
the page or a section (Edmundson, "New Methods in Automatic Extracting", 1969). Once a sentence is
taken, its words count less, so that the next one says something else (Nenkova and Vanderwende,
"The Impact of Frequency on Summarization", 2005). They are quoted in the page's order.
"""

from typing import Final

from core.turn import FINAL_ANSWER
from modules.models.offline.plan_source import filled, literal

NOTHING_TO_SUM_UP: Final = "The page has no text to sum up."

SENTENCES_MIN: Final = 3
SENTENCES_MAX: Final = 5
"""How many sentences a summary has where the request doesn't say."""

SENTENCES_PER_QUOTE: Final = 8
"""A page that has this many times a number of sentences gets that number of them."""

SENTENCES_READ: Final = 600
"""How many sentences of a page, from its beginning, are weighed."""

WORDS_MIN: Final = 5
WORDS_MAX: Final = 80

_COMMON_TEXT: Final = (
    "about above after again against all also although always among and another any are because "
    "been before being below between both but can cannot could did does doing down during each "
    "either else even ever every few for from further get gets had has have having her here hers "
    "him his how however into its itself just like made make makes many may might more most much "
    "must nor not now off often one only other others our ours out over own per rather said same "
    "say says several shall she should since some still such than that the their them then there "
    "these they this those though three through thus too two under until upon use used very was "
    "way were what when where whether which while who whom whose why will with within without "
    "would yet you your yours"
)

_PICKED: Final = r'''
common = set(@common@.split())
vague = ("this", "that", "these", "those", "it", "they", "he", "she", "however", "but", "and",
         "also", "so", "then", "thus", "therefore", "moreover", "instead", "such")
chrome = ("cookie", "newsletter", "subscribe", "sign up", "log in", "javascript", "advert",
          "all rights reserved", "privacy policy", "share this", "read more", "click here")

def keys_of(words):
    """The telling words, without their endings as far as six letters go."""
    return sorted({w[:6] for w in words.split() if len(w) > 2 and w not in common})

used = [(keys_of(s[1]), s[0], s[1], s[2], s[3]) for s in sentences[:@read@]]
counts, headed, opened, told = {}, {}, set(), []
for keys, text, words, above, place in used:
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    if above not in headed:
        headed[above] = set(keys_of(above))
for order, (keys, text, words, above, place) in enumerate(used):
    size, lower = len(words.split()), text.lower()
    factor = 1.15 if order < 5 else 1
    if place not in opened:
        factor = 1.2 if opened else 1.5
        opened.add(place)
    if not text.rstrip(")\"”’'").endswith((".", "!", "…", ":")):
        factor *= 0.4
    if words.partition(" ")[0] in vague:
        factor *= 0.6
    if [sign for sign in chrome if sign in lower] or not @shortest@ <= size <= @longest_in_words@:
        factor *= 0.1
    if size > 2:
        told.append((order, text, place, keys, factor, headed[above]))

weights = {key: (times if times > 1 else 0.3) / len(used) for key, times in counts.items()}
wanted = @wanted@ or min(max(len(told) // @per_quote@, @least@), @most@)
picked = []
while told and len(picked) < wanted:
    best, best_score = None, -1
    for one in told:
        points = 0
        for key in one[3]:
            points += weights[key] * (1.5 if key in one[5] else 1)
        score = points * one[4] / (len(one[3]) + 4)
        if score > best_score:
            best, best_score = one, score
    picked.append(best)
    for key in best[3]:
        weights[key] *= 0.3
    same = set(best[3])
    told = [one for one in told if one[0] != best[0]
            and len([1 for key in one[3] if key in same]) <= 0.7 * min(len(one[3]), len(best[3]))]

picked.sort(key=lambda one: one[0])
lines = [quoted(one[1], one[2]) for one in picked]
if not lines:
    return "@final@ " + @nothing@ + " (" + cited + ")"
if further:
    lines.append("The page goes on; this sums up its first " + str(len(page)) + " characters.")
return "@final@ " + "\n".join(lines)
'''


def summary_lines(wanted: int | None) -> list[str]:
    """What returns the sentences that say most, of the tuples in `sentences`.

    `wanted` of them, or 3 to 5 as the page is long. `page`, `further` and `cited` are the
    page's text, whether it goes on, and its address as quotes name it.
    """
    values = {
        "common": literal(_COMMON_TEXT),
        "read": SENTENCES_READ,
        "shortest": WORDS_MIN,
        "longest_in_words": WORDS_MAX,
        "wanted": str(wanted or 0),
        "per_quote": SENTENCES_PER_QUOTE,
        "least": SENTENCES_MIN,
        "most": SENTENCES_MAX,
        "final": FINAL_ANSWER,
        "nothing": literal(NOTHING_TO_SUM_UP),
    }
    return filled(_PICKED, values)
