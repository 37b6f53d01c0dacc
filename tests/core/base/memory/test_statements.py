"""Which requests state facts, which don't, and what facts are about."""

import pytest

from core.base.memory.statements import (
    FACT_CHARACTERS_MAX,
    bare_fact,
    stated_facts,
    states_only,
    subject_of,
)


@pytest.mark.parametrize(
    ("request_text", "facts"),
    [
        ("remember that I'm vegetarian", ("I'm vegetarian",)),
        ("remember that I’m vegetarian", ("I'm vegetarian",)),
        ("Remember: the wifi code is on the fridge", ("the wifi code is on the fridge",)),
        ("please remember for later that 42 is my lucky number", ("42 is my lucky number",)),
        ("can you remember that I use a Mac?", ("I use a Mac",)),
        ("I want you to remember that Anna is my boss.", ("Anna is my boss",)),
        ("remember my dentist is Dr. Smith.", ("my dentist is Dr. Smith",)),
        ("Hi, please remember that I like tea, cake and biscuits",
         ("I like tea, cake and biscuits",)),
        ("remember that I'm vegetarian and my name is Alice",
         ("I'm vegetarian", "my name is Alice")),
        ("Remember that my car is a Volvo, and I live in Oslo; my dog is Rex.",
         ("my car is a Volvo", "I live in Oslo", "my dog is Rex")),
        ("remember that I like tea and always answer in metric",
         ("I like tea", "always answer in metric")),
        ("remember that my address is 5 Main St, Oslo", ("my address is 5 Main St, Oslo",)),
        ("Remember that I like jazz. Remember that I like tea.", ("I like jazz", "I like tea")),
    ],
)  # fmt: skip
def test_what_is_to_be_remembered_is_each_fact_of_the_sentence(
    request_text: str, facts: tuple[str, ...]
) -> None:
    assert stated_facts(request_text) == facts
    assert states_only(request_text)


@pytest.mark.parametrize(
    ("request_text", "fact"),
    [
        ("Remember that I like jazz. What is 2+2?", "I like jazz"),
        ("remember that I'm vegan, what can I cook?", "I'm vegan"),
        ("Remember that I like tea.\n" + "remember that I'm vegan, or so.\n" * 60, "I like tea"),
    ],
)
def test_a_request_may_ask_for_more(request_text: str, fact: str) -> None:
    assert stated_facts(request_text)[0] == fact
    assert request_text.count("\n") or not states_only(request_text)


@pytest.mark.parametrize(
    "request_text",
    [
        *("add 5 and 7", "", "   ", "?", "remember", "remember that", "remember that x"),
        *("I'm vegetarian", "my name is Anna", "I live in Oslo, what's the weather like?"),
        *("do you remember that I'm vegetarian?", "remember when we talked about leases"),
        *("remember that time we went to Rome?", "remember to buy milk", "remember the Alamo"),
        *("forget that I'm vegetarian", "always answer in metric"),
        *('Translate: "remember that I\'m vegan"', '"remember that I like tea"'),
        *("Translate this. Remember that I'm vegan.", "> remember that I'm vegan"),
        "remember that " + "x y" * FACT_CHARACTERS_MAX,
    ],
)
def test_nothing_else_is_kept(request_text: str) -> None:
    assert stated_facts(request_text) == ()
    assert not states_only(request_text)


@pytest.mark.parametrize(
    "hostile",
    [
        *("I live in " + "a, b; so and " * 90, "my " + "x " * 600, "i prefer " + "and " * 290),
        *(
            "remember " * 130,
            "my name is " + " " * 1_150 + "x",
            "my dog's " * 130,
            '"' * 1_150 + "i",
        ),
        *("remember that " + ", and " * 190, "remember that I" + "\u2003" * 1_150 + "x"),
        *("always answer " + "in in " * 190, "I'm a " + "a-a-a-a " * 100, "I " * 2_000_000),
    ],
)
def test_a_request_made_to_take_long_is_looked_through(hostile: str) -> None:
    facts = stated_facts(hostile)  # 20 ms at most; with backtracking, minutes
    assert len(facts) <= 2
    assert all(subject_of(fact) for fact in (*facts, hostile[:FACT_CHARACTERS_MAX]))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Oslo", "I moved to Rome."),
        ("I am based in Oslo", "I live in Rome now"),
        ("always answer in metric", "Always use imperial units"),
        ("always answer in German", "from now on, reply in French"),
        ("I'm vegetarian", "I am a vegan"),
        ("I'm vegetarian", "I'm no longer vegetarian"),
        ("I like coffee", "I don't like coffee any more"),
        ("my name is Anna", "My name is Bob"),
        ("my favourite color is teal", "my favorite color is red"),
        ("my boss is Petra", "My boss is Kim"),
        ("my dog is 5 years old", "my dog is 6 years old"),
        ("I prefer window seats", "I prefer aisle seats"),
        ("never use emojis", "always use emojis"),
        ("I work at Siemens", "I work for Bosch"),
        ("Keep answers short: always answer briefly", "always answer in detail"),
    ],
)
def test_the_same_subject(older: str, newer: str) -> None:
    assert subject_of(older) == subject_of(newer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I am allergic to peanuts", "I am allergic to cats"),
        ("always answer in metric", "always answer in German"),
        ("my wife is Anna", "my wife is a nurse"),
        ("my dog is 5 years old", "my dog is a beagle"),
        ("I like coffee", "I like tea"),
        ("my name is Anna", "my wife's name is Anna"),
        ("I live in Rome", "I'm from Rome"),
        ("I'm a teacher", "I'm a mother"),
        ("my birthday is May 3", "my son's birthday is May 3"),
        ("my favorite color is red", "my favorite dish is soup"),
    ],
)
def test_different_subjects(one: str, other: str) -> None:
    assert subject_of(one) != subject_of(other)


def test_a_fact_is_bare_without_what_asks_to_remember_it() -> None:
    assert bare_fact("Remember that  I'm\nvegetarian.") == "I'm vegetarian"
    assert bare_fact("the code is 7!") == "the code is 7"
    assert bare_fact("remember that") == bare_fact(" ") == ""
