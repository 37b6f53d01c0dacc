"""What reaches a language model of the texts around a folder, and what is asked before."""

from pathlib import Path

import pytest

from config.schema import GuidanceSection
from modules.planning.guidance.guide import CHARACTERS_MAX, Guide, Guided
from modules.planning.guidance.project import GuidanceText
from tests.modules.planning.guidance.places import project, put, put_skill


class Person:
    """Answers in turn; keeps the names that were asked about."""

    def __init__(self, *answers: bool | None) -> None:
        self.answers = [*answers]
        self.asked: list[str] = []

    async def __call__(self, text: GuidanceText) -> bool | None:
        """As `guide.Confirm`."""
        self.asked.append(text.name)
        return self.answers.pop(0)


class Around:
    """A project with instructions and skills, and guides through it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root, self.inner = project(folder)
        self.shelf = self.root / ".agents" / "skills"

    def guide(self, person: Person | None = None) -> Guide:
        """One process, with somebody to be asked or nobody."""
        return Guide(self.home, self.inner, person)


@pytest.fixture
def around(tmp_path: Path) -> Around:
    return Around(tmp_path)


async def guided(
    guide: Guide, request: str = "hello", context: int | None = None, **wanted: bool
) -> Guided:
    return await guide.for_request(request, GuidanceSection(**wanted), context)


async def test_where_there_is_nothing_nothing_is_said(around: Around) -> None:
    found = await guided(around.guide())
    assert (found.section, found.note, found.notices, await found.given("skill_x")) == (
        "",
        "",
        (),
        (),
    )


async def test_the_users_own_texts_are_used_without_a_question(around: Around) -> None:
    put(around.home / "CORTEX.md", "answer in German")
    put_skill(around.home / "skills", "release-notes", "list what changed", "Write release notes")
    guide = around.guide()
    found = await guided(guide, "write the release notes")
    assert "answer in German" in found.section
    assert "- `skill_release_notes`: Write release notes" in found.section
    assert "list what changed" in found.note
    (notice,) = found.notices
    assert notice.endswith("CORTEX.md; skill release-notes")
    assert (await guided(guide)).notices == (), "each is told once"


async def test_nothing_of_a_project_is_used_before_a_yes(around: Around) -> None:
    put(around.root / "AGENTS.md", "call the shop")
    put_skill(around.shelf, "pdf-forms", "use the box", "Fill PDF forms")
    for person in (None, Person(None, None), Person(False, False), Person()):
        found = await guided(around.guide(person), "fill the PDF forms")
        assert (found.section, found.note, found.variables) == ("", "", {})
    found = await guided(around.guide(), "fill the PDF forms")
    assert found.notices == (), "a no is remembered, and not told again and again"


async def test_where_nobody_can_be_asked_a_line_tells_how_to_trust(around: Around) -> None:
    put(around.root / "AGENTS.md", "x")
    guide = around.guide()
    (notice,) = (await guided(guide)).notices
    assert notice == (
        "instructions ../AGENTS.md left out, not trusted yet; "
        f"to trust: agent.py trust {around.root / 'AGENTS.md'}"
    )
    assert (await guided(guide)).notices == ()


async def test_a_yes_holds_until_the_content_changes(around: Around) -> None:
    put(around.root / "AGENTS.md", "first")
    person = Person(True)
    assert "first" in (await guided(around.guide(person))).section
    assert "first" in (await guided(around.guide(Person()))).section
    put(around.root / "AGENTS.md", "second")
    person = Person(False, True)
    guide = around.guide(person)
    assert (await guided(guide)).section == ""
    assert (await guided(guide)).section == ""
    put(around.root / "AGENTS.md", "third")
    assert "third" in (await guided(guide)).section
    assert person.asked == ["../AGENTS.md"] * 2


async def test_only_a_skill_that_fits_is_asked_about(around: Around) -> None:
    put_skill(around.shelf, "pdf-forms", "use the box", "Fill PDF forms. Use when the user asks")
    put_skill(around.shelf, "brand", "blue", "Colours and logos of the company")
    person = Person(True)
    guide = around.guide(person)
    assert (await guided(guide, "when do users ask for it?")).section == ""
    found = await guided(guide, "fill these PDF forms")
    assert person.asked == ["pdf-forms"]
    assert "use the box" in found.note
    assert "brand" not in found.section
    assert "use the box" in (await guided(guide, "what do pdf-forms do?")).note
    assert (await guided(guide, "the colours of a rainbow")).note == ""
    later = await guided(guide, "add 5 and 7")
    assert (later.note, later.section) == ("", found.section)


async def test_a_plan_has_skills_and_their_files_as_variables(around: Around) -> None:
    folder = put_skill(around.home / "skills", "pdf-forms", "use the box", "Fill PDF forms")
    put(folder / "deep" / "more.md", "about\u200b boxes")
    put_skill(around.home / "skills", "pdf_forms", "the other one", "Nothing like it")
    found = await guided(around.guide(), "fill PDF forms")
    assert [*found.variables] == [
        "skill_pdf_forms",
        "skill_pdf_forms_2",
        "skill_pdf_forms_deep_more_md",
    ]
    assert "`skill_pdf_forms_deep_more_md` (deep/more.md)" in found.note
    texts = await found.given("x = skill_pdf_forms_deep_more_md")
    given = {text.name: text.text for text in texts}
    assert given["skill_pdf_forms_deep_more_md"] == "about boxes"
    assert given["skill_pdf_forms"].startswith("use the box\nFiles beside it")
    assert await found.given("return 'nothing of the kind'") == ()
    (folder / "deep" / "more.md").unlink()
    texts = await found.given("skill_pdf_forms_deep_more_md")
    (text,) = (text for text in texts if text.name.endswith("md"))
    assert text.text.startswith("[the file can't be read: ")


@pytest.mark.parametrize(("context", "most"), [(None, CHARACTERS_MAX), (4096, 4096 // 4 * 3)])
async def test_long_texts_are_cut_the_nearest_last(
    context: int | None, most: int, around: Around
) -> None:
    put(around.home / "CORTEX.md", "far " * 30_000)
    put(around.root / "AGENTS.md", "near " * 100)
    put_skill(around.home / "skills", "pdf-forms", "box " * 30_000, "Fill PDF forms")
    found = await guided(around.guide(Person(True)), "fill PDF forms", context)
    assert "near " * 99 in found.section
    assert "more characters left out]" in found.section
    assert len(found.section) < most + 1_000
    assert len(found.note) < most + 1_000


async def test_what_nobody_sees_does_not_reach_the_model(around: Around) -> None:
    put(around.home / "CORTEX.md", "plain\U000e0041\u200b <<data 1>>")
    section = (await guided(around.guide())).section
    assert "plain \u2039\u2039data 1>>" in section


@pytest.mark.parametrize(
    ("wanted", "has"),
    [("instructions", ("", "box")), ("skills", ("say so", ""))],
)
async def test_each_kind_can_be_left_out(wanted: str, has: tuple[str, str], around: Around) -> None:
    put(around.home / "CORTEX.md", "say so")
    put_skill(around.home / "skills", "pdf-forms", "box", "Fill PDF forms")
    found = await guided(around.guide(), "fill PDF forms", None, **{wanted: False})
    instructions, skill = has
    assert instructions in found.section
    assert skill in found.note
    assert ("say so" in found.section, "box" in found.note) == (bool(instructions), bool(skill))


async def test_a_record_that_cannot_be_written_costs_no_run(around: Around) -> None:
    put(around.root / "AGENTS.md", "x")
    around.home.write_text("in the place of the folder")
    found = await guided(around.guide(Person(True)))
    assert "--- ../AGENTS.md ---\nx" in found.section
    assert any("not remembered" in notice for notice in found.notices)


async def test_broken_texts_are_told_once(around: Around) -> None:
    put(around.shelf / "x" / "SKILL.md", "no front matter")
    guide = around.guide()
    assert "has no 'description'" in (await guided(guide)).notices[0]
    assert (await guided(guide)).notices == ()
