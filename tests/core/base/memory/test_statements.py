"""Which requests state facts, which don't, and what facts are about."""

import pytest

from core.base.memory.statements import (
    FACT_CHARACTERS_MAX,
    bare_fact,
    stated_facts,
    subject_of,
)


@pytest.mark.parametrize(
    ("request_text", "facts"),
    [
        ("remember that I'm vegetarian", ("I'm vegetarian",)),
        ("Remember: the wifi code is on the fridge", ("the wifi code is on the fridge",)),
        ("please remember for later that 42 is my lucky number", ("42 is my lucky number",)),
        ("can you remember that I use a Mac?", ("I use a Mac",)),
        ("I want you to remember that Anna is my boss.", ("Anna is my boss",)),
        ("remember my dentist is Dr. Smith.", ("my dentist is Dr. Smith",)),
        ("Remember that I like jazz. What is 2+2?", ("I like jazz",)),
        ("keep in mind that I'm vegan", ("I'm vegan",)),
        ("I'm vegetarian", ("I'm vegetarian",)),
        ("I’m vegetarian", ("I'm vegetarian",)),
        ("I am allergic to peanuts.", ("I am allergic to peanuts",)),
        ("I'm no longer vegetarian", ("I'm no longer vegetarian",)),
        ("i don't eat pork", ("i don't eat pork",)),
        ("my name is Anna", ("my name is Anna",)),
        ("call me Bob", ("call me Bob",)),
        ("I live in Oslo, what's the weather like?", ("I live in Oslo",)),
        ("I live in Rome now", ("I live in Rome now",)),
        ("I'm from Brazil, so suggest a dish", ("I'm from Brazil",)),
        ("I moved to Rome.\nWhat should I see?", ("I moved to Rome",)),
        ("I work as a nurse at Charité", ("I work as a nurse at Charité",)),
        ("Hi! I'm a software developer. What is a monad?", ("I'm a software developer",)),
        ("My wife's birthday is May 3", ("My wife's birthday is May 3",)),
        ("my favourite color is teal", ("my favourite color is teal",)),
        ("By the way, my email is a@b.org", ("my email is a@b.org",)),
        ("always answer in metric", ("always answer in metric",)),
        ("Please always reply in German!", ("Please always reply in German",)),
        ("never use emojis", ("never use emojis",)),
        ("from now on, answer in one sentence", ("from now on, answer in one sentence",)),
        ("I prefer window seats", ("I prefer window seats",)),
        ("I like hiking and I hate coriander", ("I like hiking and I hate coriander",)),
        ("I'm vegan. I live in Oslo. add 5 and 7", ("I'm vegan", "I live in Oslo")),
    ],
)  # fmt: skip
def test_stated(request_text: str, facts: tuple[str, ...]) -> None:
    assert stated_facts(request_text) == facts


@pytest.mark.parametrize(
    "request_text",
    [
        *("add 5 and 7", "", "   ", "?", "remember", "remember that", "remember that x"),
        # questions
        *("am I vegetarian?", "I live in Oslo?", "is my name Bob?", "What if I live in Rome?"),
        *("do you remember that I'm vegetarian?", "what is my name?", "my name is what?"),
        *("remember when we talked about leases", "remember that time we went to Rome?"),
        *("If I live in Rome, do I pay tax?", "I was wondering what 5+5 is"),
        # the task at hand
        *("I'm looking for a hotel", "I am trying to fix this", "I am asking about leases"),
        *("I'm not sure", "I'm a bit confused", "I am here", "I'd like a pizza"),
        *("I'm in Berlin this week", "my code is not working", "my function is returning None"),
        *("my question is what 2+2 is", "my dog is sick", "my phone is broken"),
        *("my boss is annoying", "my list is [1, 2, 3]", "my file is called x.csv"),
        *("remember to buy milk", "call me when it's done", "call me back", "call me a taxi"),
        *("never mind", "always", "I can't eat tonight", "I want you to add 5 and 7"),
        *("forget that I'm vegetarian", "answer in metric", "don't use a loop here"),
        # about the answer before
        *("I like the second one", "I prefer option 2", "I prefer b", "I hate this", "I love you"),
        *("I like how you wrote it", "I don't like that", "I prefer the first"),
        # quoted, pasted, made up
        *('Translate: "I\'m vegetarian"', '"I live in Oslo" - who said it?', "`my name is Bob`"),
        *("Translate into German: I live in Oslo. I like tea.", "'I'm vegan' means what?"),
        *("Fix the grammar. My name is Bob. I likes tea.", "Write a poem. I like dogs."),
        *("He said I live in Oslo", "She is nice. I live in Oslo.", "Summarize it. I'm vegan."),
        *("Here is my text: I live in Oslo. I am vegan.", "> I'm vegan", "see\n    I'm vegan"),
        *("```\nmy name is Bob\n```", '"I live in Oslo. I like tea.', "«I'm vegan. I like tea.»"),
        *("Suppose the following. I live in Rome.", "Pretend we met. My name is Bob."),
        *("I have 5 apples. I eat 2 of them. How many are left?",),
        "I am 24 years old. My brother is twice my age. How old is he?",
        # titles
        *("Never gonna give you up lyrics", "Never Say Never Again cast", "remember the Alamo"),
        # long ones
        "I like tea. " + "And so it went on and on. " * 60,
        "\n".join(["I'm vegan."] * 8),
        "remember that " + "x y" * FACT_CHARACTERS_MAX,
    ],
)
def test_not_stated(request_text: str) -> None:
    assert stated_facts(request_text) == ()


def test_a_long_request_states_only_what_it_says_first_and_plainly() -> None:
    pasted = "\n".join(["I live in Oslo.", "remember that I'm vegan."] * 8)
    assert stated_facts(f"Remember that I like tea.\n{pasted}") == ("I like tea",)


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
        *("always answer " + "in in " * 190, "I'm a " + "a-a-a-a " * 100, "I " * 2_000_000),
    ],
)
def test_a_request_made_to_take_long_is_looked_through(hostile: str) -> None:
    facts = stated_facts(hostile)  # 20 ms at most; with backtracking, minutes
    assert len(facts) <= 1
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
