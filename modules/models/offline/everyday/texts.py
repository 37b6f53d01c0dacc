"""Everyday requests about a text that they give: its letters, its case, its order."""

from typing import Final

from modules.models.offline.everyday.rule import Rule, rule

_VOWELS: Final = "sum([text.lower().count(vowel) for vowel in 'aeiou'])"

_THE: Final = "(?:(?:the )?(?:word|string|text|phrase|sentence|name):? )?"
_IN: Final = "(?:are |are there )?(?:in|does|has)"


def _cased(name: str, method: str) -> Rule:
    return rule(
        "case uppercase lowercase titlecase capitals capital letters",
        f"(?:write |put |print |spell |convert |turn |change )?{_THE}<text:t> (?:in|to|into) "
        f"(?:all )?(?:{name})",
        f"(?:convert |make )?(?:to )?(?:{name})(?: of)?:? {_THE}<text:t>",
        f"make {_THE}<text:t> (?:{name})",
        lines=f"answer = @t@.{method}()",
    )


TEXTS: Final[tuple[Rule, ...]] = (
    rule(
        "reverse backwards backward",
        "reverse (?:the )?(?:order of )?(?:the )?(?:list|items|numbers|words)(?: of)?:? <list:t>",
        "reverse <numbers:t>",
        lines="answer = ', '.join([str(item) for item in @t@[::-1]])",
    ),
    rule(
        "reverse backwards backward",
        f"reverse {_THE}<text:t>",
        f"(?:(?:write|spell|print|say) )?{_THE}<text:t> (?:backwards?|in reverse|reversed)",
        lines="answer = @t@[::-1]",
    ),
    rule(
        "sort alphabetize alphabetise order",
        "(?:alphabeti[sz]e|sort|order) (?:(?:the )?(?:words|names|list|items) )?(?:of )?<list:t>"
        "(?: (?:alphabetically|in alphabetical order|by name))?",
        lines="answer = ', '.join(sorted(@t@, key=lambda item: item.lower()))",
    ),
    _cased("upper ?-?case|capitals|capital letters", "upper"),
    _cased("lower ?-?case|small letters", "lower"),
    _cased("title ?-?case", "title"),
    rule(
        "lines",
        f"(?:how many|count(?: the)?|(?:the )?number of) lines {_IN} {_THE}<quoted:t>(?: have)?",
        lines="text = @t@\nanswer = text.count('\\n') + (not text.endswith('\\n'))",
    ),
    rule(
        "vowels",
        f"(?:how many|count(?: the)?) vowels {_IN} {_THE}<text:t>(?: have)?",
        lines=f"text = @t@\nanswer = {_VOWELS}",
    ),
    rule(
        "letters",
        f"(?:how many|count(?: the)?|(?:the )?number of) letters {_IN} {_THE}<text:t>(?: have)?",
        lines="answer = len([c for c in @t@ if c.isalpha()])",
    ),
    rule(
        "characters length long chars",
        f"(?:how many|count(?: the)?|(?:the )?number of) (?:characters|chars) {_IN} {_THE}<text:t>"
        "(?: have)?",
        f"(?:what is |what's )?(?:the )?length of {_THE}<text:t>",
        "how long is (?:the )?(?:word|string|text|phrase) <text:t>",
        lines="answer = len(@t@)",
    ),
    rule(
        "words",
        f"(?:how many|count(?: the)?|(?:the )?number of) words {_IN} {_THE}<phrase:t>(?: have)?",
        lines="answer = len(@t@.split())",
    ),
    rule(
        "many times often count",
        "(?:how many|count(?: the)?)(?: letters?)? [\"'“`]?<letter:c>[\"'”`]?(?:['’]?s)? "
        f"(?:are |are there )?in {_THE}<text:t>",
        "how (?:often|many times) (?:does |is )?(?:the )?(?:letter |word )?<word:c> "
        f"(?:appears? |occurs? |used )?in {_THE}<text:t>",
        lines="answer = @t@.lower().count(@c@.lower())",
    ),
)
