"""The offline planner's requests: each plan is really run, on tools of plain Python."""

import ast
import math

import pytest

from core.turn import ExplorationMode, PlanningMode
from tests.modules.models.offline.plans import MATH_TOOLS, Bench, history

CODES = "strings_to_chars_to_int"
EXPONENTIALS = "int_list_to_exponential_sum"
FIBONACCI = "fibonacci_numbers"

ANSWERED: list[tuple[str, str, list[str]]] = [
    # symbols
    ("2 + 3 * 4", "14", ["multiply", "add"]),
    ("(2 + 3) * 4", "20", ["add", "multiply"]),
    ("-2^2", "-4", ["power"]),
    ("(-3)^2", "9", ["power"]),
    ("2**3**2", "512", ["power", "power"]),
    ("2 ** -1", "0.5", ["power"]),
    ("17 % 5", "2", ["remainder"]),
    ("8 ÷ 2 × 3", "12", ["divide", "multiply"]),
    ("3x4", "12", ["multiply"]),
    ("1,000 + 1", "1001", ["add"]),
    ("1.5e3 - .5", "1499.5", []),
    ("5! / 3!", "20", ["factorial", "factorial", "divide"]),
    ("√16 + 9", "13", ["power", "add"]),
    ("3² + 4²", "25", ["power", "power", "add"]),
    ("2(3 + 4)", "14", ["add", "multiply"]),
    ("sqrt(9+16)*2", "10", ["add", "power", "multiply"]),
    ("sin(2pi)", str(math.sin(2 * math.pi)), ["multiply", "sin"]),
    ("e^2", str(math.e**2), ["power"]),
    ("1 + 2 = ?", "3", ["add"]),
    # words
    ("add 5 and 7", "12", ["add"]),
    ("Please add 3, 4 and 5, thank you!", "12", ["add", "add"]),
    ("subtract fifteen from forty", "25", ["subtract"]),
    ("take 9 away from 20", "11", ["subtract"]),
    ("how much is three times seven", "21", ["multiply"]),
    ("Could you work out 144 divided by 12 please?", "12", ["divide"]),
    ("divide 100 by 8", "12.5", ["divide"]),
    ("multiply the sum of 3 and 4 by 2", "14", ["add", "multiply"]),
    ("What do you get when you multiply 12 by 12?", "144", ["multiply"]),
    ("remainder when 17 is divided by 5", "2", ["remainder"]),
    ("29 modulo 6", "5", ["remainder"]),
    ("ratio of 10 to 4", "2.5", ["divide"]),
    ("5 less than 20", "15", ["subtract"]),
    ("3 squared plus 4 squared", "25", ["power", "power", "add"]),
    ("2 raised to the third power", "8", ["power"]),
    ("raise 2 to the power of 8", "256", ["power"]),
    ("square of 12", "144", ["power"]),
    ("the square root of 144 plus 5 squared", "37", ["power", "power", "add"]),
    ("cube root of 1", "1", ["cbrt"]),
    ("4th root of 16", "2", ["power"]),
    ("What's 12.5% of 80?", "10", []),
    ("15 percent of the sum of 100 and 200", "45", ["add", "multiply", "divide"]),
    ("20% off 50", "40", ["multiply", "divide", "subtract"]),
    ("increase 200 by 15%", "230", ["multiply", "divide", "add"]),
    ("20 is what percent of 80?", "25", ["multiply", "divide"]),
    ("half of 9", "4.5", ["divide"]),
    ("two thirds of 90", "60", ["multiply", "divide"]),
    ("double the square root of 49", "14", ["power", "multiply"]),
    ("factorial of 5 divided by factorial of 3", "20", ["factorial", "factorial", "divide"]),
    ("sine of 90 degrees", "1", []),
    ("cos 0", "1", ["cos"]),
    ("tangent of 0", "0", ["tan"]),
    ("two hundred and five times two", "410", ["multiply"]),
    ("twenty-one plus one thousand two hundred", "1221", ["add"]),
    ("1.5 million times 2", "3000000", []),
    ("log base 2 of 8", "3", []),
    ("greatest common divisor of 12 and 18", "6", []),
    ("sine of pi over 2", "1", ["divide", "sin"]),
    ("Can you tell me what 15 times 4 is?", "60", ["multiply"]),
    ("If I multiply 7 by 8, what do I get?", "56", ["multiply"]),
    ("the result of adding 5 and 7", "12", ["add"]),
    ("raise the sum of 1 and 2 to the power of 3", "27", ["add", "power"]),
    ("First add 4 and 5, then subtract 2", "7", ["add", "subtract"]),
    ("which is the largest of 3, 5 and 4?", "5", []),
    ("5 times itself", "25", ["multiply"]),
    ("Multiply the result of 3 plus 4 by 2", "14", ["add", "multiply"]),
    ("add five hundred and three hundred", "800", ["add"]),
    # in decimal, as it is written
    ("0.1 + 0.2", "0.3", []),
    ("1.15 * 100", "115", []),
    ("0.3 % 0.1", "0", []),
    ("1.1 ** 2", "1.21", []),
    ("average of 0.1, 0.2 and 0.3", "0.2", []),
    ("add 0.1 and 0.2, double it, then add it to itself", "1.2", []),
    ("1.0/3", "0.3333333333333333", []),
    ("√(0.1 + 0.15)", "0.5", ["power"]),
    ("sin(30 degrees)", "0.5", []),
    ("sine of -30 degrees", "-0.5", []),
    ("cos 60 degrees", "0.5", []),
    ("cosine of 90 degrees", "0", []),
    ("tangent of 45 degrees", "1", []),
    ("sine of 20 degrees", str(math.sin(math.radians(20))), ["sin"]),
    # as people mean it
    ("50 + 10%", "55", ["multiply", "divide", "add"]),
    ("80 - 25%", "60", ["multiply", "divide", "subtract"]),
    ("difference between 5 and 9", "4", ["subtract"]),
    # lists
    ("average of 3, 4 and 8", "5", ["add", "add", "divide"]),
    ("maximum of 3, 9 and 4", "9", []),
    ("min(3, 9, 4)", "3", []),
    ("product of 2, 3, and 4", "24", ["multiply", "multiply"]),
    ("sum 1 2 3", "6", ["add", "add"]),
    ("sum of the numbers from 1 to 100", "5050", []),
    ("sum of the squares of 3 and 4", "25", ["power", "power", "add"]),
    ("exponential sum of 0 and 0", "2.0", [EXPONENTIALS]),
    ("sum of exponentials of 0, 0 and 0", "3.0", [EXPONENTIALS]),
    ("the difference between 50 and the product of 6 and 7", "8", ["multiply", "subtract"]),
    ("list the first ten fibonacci numbers", "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]", [FIBONACCI]),
    ("the sum of the first 10 Fibonacci numbers", "88", [FIBONACCI]),
    ("the first 5 terms of the Fibonacci sequence", "[0, 1, 1, 2, 3]", [FIBONACCI]),
    # characters
    ("What is the ASCII code of A?", "[65]", [CODES]),
    ("convert INDIA to ASCII", "[73, 78, 68, 73, 65]", [CODES]),
    ('sum of the ASCII values of "a b"', "227", [CODES]),
    (
        "Find the ASCII values of characters in INDIA and sum their exponentials",
        "7.599822246093079e+33",
        [CODES, EXPONENTIALS],
    ),
    (
        "Find the ASCII values of characters in INDIA and then return sum of exponentials of "
        "those values.",
        "7.599822246093079e+33",
        [CODES, EXPONENTIALS],
    ),
    # chains and questions
    ("add 5 and 7, then multiply the result by 3", "36", ["add", "multiply"]),
    ("Multiply 6 by 7. Then subtract 2 from it.", "40", ["multiply", "subtract"]),
    ("Start with 10, add 5 and then halve it", "7.5", ["add", "divide"]),
    ("add 3, 4 and 5, divide by 3 and square the result", "16", ["add", "add", "divide", "power"]),
    ("which is larger, 2^10 or 10^3?", "2^10 = 1024", ["power", "power"]),
    ("which is smaller: 2^4 or 4^2", "2^4 and 4^2 = 16", ["power", "power"]),
    ("what is 2+3 and 4*5?", "2+3 = 5; 4*5 = 20", ["add", "multiply"]),
    (
        "what is 3 factorial and its square?",
        "3 factorial = 6; its square = 36",
        ["factorial", "power"],
    ),
]

REFUSED: list[tuple[str, str]] = [
    ("line 1: some pasted text\nline 2: more of it", "No model is connected"),
    ("write a poem about the sea", "No model is connected"),
    ("what is the capital of France?", "searches documents"),
    ("who won the match in 2010?", "searches documents"),
    ("add 5 and banana", "banana"),
    ("what is the meaning of life?", "searches documents"),
    ("3 apples and 4 pears", '"apples"'),
    ("delete all my files", "No model is connected"),
    ("translate hello to French", "No model is connected"),
    ("5 +", "ends"),
    ("(2 + 3", '")"'),
    ("sum", "ends"),
    ("I have 5 apples and eat 2, how many are left?", '"I"'),
    ("2 plus two hundred elephants", '"elephants"'),
    ("5 and 7", "no calculation"),
    ("2 3", '"3"'),
    ("0x10 + 1", '"0x10"'),
    ("double it", "earlier result"),
    ("what is 2 plus 2 and who is the king", '"who"'),
    # two readings
    ("add 5 and 7 times 2", '"times"'),
    ("add 5 and 7!", "factorial"),
    ("the sum of 5 and 7 and the product of 2 and 3", "one list or two"),
    ("add two hundred and five", "write it in digits"),
    ("sum of 100,200,300", "space after each comma"),
    ("square root of 16 * 4", "parentheses"),
    ("sine of 3 times 2", "parentheses"),
    ("the sum of 2 and 3 squared", '"squared"'),
    ("factorial of 3 squared", '"squared"'),
    ("product of 3 -4 and 5", "write commas"),
    ("2x + 3", '"x"'),
    ("15% + 5%", "percentage"),
    ("10 + 200 + 15%", "percentage"),
    ("log of 100", "base"),
    ("6/2(1+2)", '"("'),
]

STRATEGIES: list[tuple[PlanningMode, ExplorationMode]] = [
    ("conservative", "parallel"),
    ("exploratory", "parallel"),
    ("exploratory", "sequential"),
]


@pytest.mark.parametrize(("request_text", "answer", "called"), ANSWERED)
async def test_a_request_gives_its_answer_by_these_tools_in_every_strategy(
    request_text: str, answer: str, called: list[str]
) -> None:
    for planning, exploration in STRATEGIES:
        outcome = await Bench().run(
            request_text, planning_mode=planning, exploration_mode=exploration
        )
        found = sorted(outcome.called) if planning == "exploratory" else outcome.called
        expected = sorted(called) if planning == "exploratory" else called
        assert (outcome.answer, found) == (answer, expected), (exploration, outcome.text)
    without_tools = await Bench(()).run(request_text)
    assert (without_tools.answer, without_tools.called) == (answer, []), without_tools.text


@pytest.mark.parametrize(("request_text", "reason"), REFUSED)
async def test_a_request_that_is_not_understood_is_declined_with_the_reason(
    request_text: str, reason: str
) -> None:
    for tools in (MATH_TOOLS, ()):
        outcome = await Bench(tools).run(request_text)
        assert outcome.declined, outcome.text
        why, what = outcome.text.splitlines()
        assert reason in why
        assert "agent.py m" in what


@pytest.mark.parametrize(
    ("request_text", "answers", "answer"),
    [
        ("now divide that by 2", ["12"], "6"),
        ("and the square root of it?", ["text", "16", "no number here"], "4"),
        ("double it", ["The result is 21."], "42"),
        ("the previous answer times 2", ["2^10 = 1024"], "2048"),
        ("plus 3", ["1,000"], "1003"),
        ("subtract 2 from the result", ["-5"], "-7"),
        ("what about its square?", ["1.5"], "2.25"),
        ("now what is 5 plus 7", ["99"], "12"),
    ],
)
async def test_a_follow_up_uses_the_last_numeric_answer(
    request_text: str, answers: list[str], answer: str
) -> None:
    outcome = await Bench().run(request_text, history=history(*answers))
    assert outcome.answer == answer, outcome.text


@pytest.mark.parametrize("answers", [[], ["hello"], ["2+3 = 5; 4*5 = 20"], ["[1, 2]"], ["3 of 4"]])
async def test_a_follow_up_without_one_clear_number_is_declined(answers: list[str]) -> None:
    outcome = await Bench().run("now divide that by 2", history=history(*answers))
    assert outcome.declined
    assert "earlier result" in outcome.text


async def test_no_plan_calls_more_tools_than_allowed_and_python_does_the_rest() -> None:
    bench = Bench()
    outcome = await bench.run("1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + factorial of 3")
    assert outcome.answer == "42"
    assert len(outcome.called) == 5
    assert "factorial" in outcome.called
    none = await bench.run("2 + 3 * 4", max_tool_calls=0)
    assert (none.answer, none.called) == ("14", [])


async def test_independent_operations_run_together_in_parallel_mode() -> None:
    bench = Bench()
    outcome = await bench.run("(1 + 2) * (3 + 4)", planning_mode="exploratory")
    assert "asyncio.gather" in outcome.text
    assert outcome.answer == "21"
    assert bench.most_together == 2
    chain = await bench.run("add 5 and 7, then multiply by 3", planning_mode="exploratory")
    assert "gather" not in chain.text


async def test_a_failing_tool_falls_back_on_python_in_sequential_mode() -> None:
    def down(*_: object) -> int:
        raise RuntimeError("down")

    bench = Bench(functions={"add": down, "multiply": down})
    outcome = await bench.run(
        "add 5 and 7, then multiply by 3",
        planning_mode="exploratory",
        exploration_mode="sequential",
    )
    assert outcome.answer == "36"
    assert outcome.called == ["add", "multiply"]


async def test_huge_powers_are_left_to_the_tool() -> None:
    bench = Bench()
    for planning, exploration in STRATEGIES:
        with pytest.raises(ValueError, match="exponent is too large"):
            await bench.run("10^10^10", planning_mode=planning, exploration_mode=exploration)


async def test_the_plan_reads_as_a_person_would_write_it() -> None:
    outcome = await Bench().run("ASCII values of INDIA and sum their exponentials")
    assert outcome.text == (
        "async def solve():\n"
        "    codes = await tools.strings_to_chars_to_int(string='INDIA')\n"
        "    total = await tools.int_list_to_exponential_sum(numbers=codes)\n"
        '    return f"FINAL_ANSWER: {total}"\n'
    )
    assert ast.parse(outcome.text)


async def test_a_refusal_names_a_server_that_is_down() -> None:
    down = {"documents": "server 'documents' did not start: it exited with code 3"}
    for request, reason in (
        ("what do my documents say about the rent?", "searches documents"),
        ("what is the rent?", "searches documents"),
        ("send it to bob", "calculation"),
    ):
        outcome = await Bench().run(request, down=down)
        why, what = outcome.text.splitlines()
        assert "server 'documents' did not start: it exited with code 3" in why, request
        assert what.endswith("agent.py mcp test documents")
        assert reason in (await Bench().run(request)).text or reason == "calculation"


async def test_questions_about_the_present_or_the_user_say_that_nothing_tells_of_it() -> None:
    assert "about the present" in (await Bench().run("what's the weather like?")).text
    assert "about you" in (await Bench().run("what is my name?")).text
