"""Tool definitions are held to what was first used; changes need somebody's consent."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.dispatch.definitions import definition_text
from core.dispatch.hooks import ToolChange
from core.dispatch.tool_pins import Admitted, ToolPins
from core.tools.spec import ToolSpec
from tests.core.dispatch.pinned_tools import (
    POISONED,
    READ,
    SPEC,
    WRITE,
    User,
    admit,
    lies_in,
    mode_of,
)


class TestFirstUse:
    async def test_new_tools_pass_and_are_asked_about_by_nobody(self, file: Path) -> None:
        assert await admit(file, READ, WRITE, user=User()) == Admitted([READ, WRITE])

    async def test_the_same_tools_pass_in_every_later_run(self, file: Path) -> None:
        await admit(file, READ, WRITE)
        assert await admit(file, WRITE, READ, user=User()) == Admitted([WRITE, READ])

    async def test_a_tool_that_is_added_later_is_pinned_then(self, file: Path) -> None:
        await admit(file, WRITE)
        assert (await admit(file, WRITE, READ)).refused == ()
        assert (await admit(file, POISONED, WRITE)).refused == ("read",)

    async def test_the_file_is_readable_by_the_user_alone_and_holds_no_secret(
        self, file: Path
    ) -> None:
        spec = replace(SPEC, env={"TOKEN": "sesame-1"}, headers={"Authorization": "sesame-2"})
        web = replace(SPEC, command=(), url="https://me:sesame-3@host/mcp?key=sesame-4")
        await admit(file, READ, spec=spec)
        await admit(file, READ, spec=web)
        assert mode_of(file) == 0o600
        (content,) = lies_in(file.parent).values()
        assert b"sesame" not in content


class TestChanges:
    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            (POISONED, "'read' (description)"),
            (replace(READ, input_schema={"type": "object", "x": 1}), "'read' (input schema)"),
            (replace(READ, output_schema={"type": "object"}), "'read' (output schema)"),
            (replace(READ, read_only=False, idempotent=True), "'read' (read-only, idempotent)"),
        ],
    )
    async def test_a_changed_tool_is_left_out_and_the_note_says_what_changed_and_what_to_do(
        self, file: Path, changed: ToolSpec, words: str
    ) -> None:
        await admit(file, READ, WRITE)
        admitted = await admit(file, changed, WRITE)
        assert admitted.tools == [WRITE]
        assert admitted.refused == ("read",)
        (note,) = admitted.notes
        assert "server 'notes'" in note
        assert words in note
        assert "--allow-tool-changes" in note

    async def test_the_user_sees_both_definitions_and_is_asked_once_about_all(
        self, file: Path
    ) -> None:
        await admit(file, READ, WRITE)
        user = User(False)
        changed = replace(WRITE, description="Writes\nlines.")
        admitted = await admit(file, POISONED, changed, user=user)
        assert admitted.tools == []
        ((first, second),) = user.shown
        assert first == ToolChange(
            "notes", "read", definition_text(READ), definition_text(POISONED)
        )
        assert "  Writes\n  lines.\n" in second.after

    async def test_an_approved_change_passes_now_and_later(self, file: Path) -> None:
        await admit(file, READ, WRITE)
        assert await admit(file, POISONED, WRITE, user=User(True)) == Admitted([POISONED, WRITE])
        assert await admit(file, POISONED, WRITE, user=User()) == Admitted([POISONED, WRITE])
        assert (await admit(file, READ, WRITE)).refused == ("read",)

    async def test_a_refused_change_is_asked_about_again_only_by_another_run(
        self, file: Path
    ) -> None:
        await admit(file, READ)
        user = User(False, True)
        pins = ToolPins(file)
        assert (await pins.admit(SPEC, [POISONED], user.approve)).notes != ()
        again = await pins.admit(SPEC, [POISONED], user.approve)
        assert (again.tools, again.refused, again.notes) == ([], ("read",), ())
        other = replace(READ, description="another")
        assert (await pins.admit(SPEC, [other], user.approve)).tools == [other]
        assert await admit(file, POISONED, user=User(True)) == Admitted([POISONED])

    async def test_what_is_accepted_beside_an_earlier_refusal_does_not_lift_it(
        self, file: Path
    ) -> None:
        await admit(file, READ, WRITE)
        pins, user = ToolPins(file), User(False, True)
        await pins.admit(SPEC, [POISONED, WRITE], user.approve)
        changed = replace(WRITE, description="another")
        admitted = await pins.admit(SPEC, [POISONED, changed], user.approve)
        assert (admitted.tools, admitted.refused) == ([changed], ("read",))
        assert [[c.tool for c in shown] for shown in user.shown] == [["read"], ["write"]]

    async def test_a_tool_that_goes_back_to_what_it_was_passes(self, file: Path) -> None:
        await admit(file, READ)
        await admit(file, POISONED)
        assert await admit(file, READ, user=User()) == Admitted([READ])

    async def test_a_tool_that_was_away_is_held_to_what_it_was(self, file: Path) -> None:
        await admit(file, READ, WRITE)
        assert await admit(file, WRITE) == Admitted([WRITE])
        assert (await admit(file, POISONED, WRITE)).refused == ("read",)

    async def test_with_the_flag_changes_pass_and_are_pinned_with_a_note(self, file: Path) -> None:
        await admit(file, READ, WRITE)
        allowing = ToolPins(file, allow_changes=True)
        user = User()
        admitted = await allowing.admit(SPEC, [POISONED, WRITE], user.approve)
        assert (admitted.tools, admitted.refused) == ([POISONED, WRITE], ())
        assert "'read' (description); accepted" in admitted.notes[0]
        assert await admit(file, POISONED, WRITE) == Admitted([POISONED, WRITE])

    async def test_of_two_tools_with_one_name_the_first_counts(self, file: Path) -> None:
        assert (await admit(file, READ, POISONED)).tools == [READ]
        assert (await admit(file, POISONED, READ)).refused == ("read",)

    async def test_an_approval_that_is_cancelled_pins_nothing(self, file: Path) -> None:
        await admit(file, READ)
        asked = asyncio.Event()

        async def wait(changes: Sequence[ToolChange]) -> bool:
            asked.set()
            await asyncio.Event().wait()
            return True

        admitting = asyncio.create_task(ToolPins(file).admit(SPEC, [POISONED], wait))
        async with asyncio.timeout(5):
            await asked.wait()
        admitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await admitting
        assert (await admit(file, POISONED)).refused == ("read",)

    async def test_many_changes_make_one_note_of_bounded_length(self, file: Path) -> None:
        tools = [replace(READ, name=f"tool_{n}") for n in range(40)]
        await admit(file, *tools)
        admitted = await admit(file, *(replace(tool, description="new") for tool in tools))
        assert len(admitted.refused) == 40
        assert "its 40 tools 'tool_0' (description), " in admitted.notes[0]
        assert "and 35 more" in admitted.notes[0]


class TestWhatAServerIs:
    async def test_two_servers_with_tools_of_one_name_do_not_mix(self, file: Path) -> None:
        await admit(file, READ)
        other = replace(POISONED, server="other")
        spec = replace(SPEC, id="other")
        assert await admit(file, other, spec=spec) == Admitted([other])

    def test_secrets_and_settings_are_no_part_of_it(self) -> None:
        same = [
            replace(SPEC, env={"TOKEN": "1"}, headers={"a": "b"}, description="x"),
            replace(SPEC, concurrent_calls=1, origin="elsewhere"),
        ]
        assert {spec.key for spec in same} == {SPEC.key}

    def test_where_the_user_is_does_not_count(self) -> None:
        assert replace(SPEC, runs_in=Path("/elsewhere")).key == SPEC.key

    def test_a_url_counts_without_user_and_query(self) -> None:
        web = replace(SPEC, command=(), url="https://host/mcp")
        same = [replace(web, url=u) for u in ("https://me:pw@host/mcp", "https://host/mcp?k=1#f")]
        assert {spec.key for spec in same} == {web.key}

    @pytest.mark.parametrize(
        "other",
        [
            replace(SPEC, id="other"),
            replace(SPEC, command=("npx", "-y", "notes-server@2")),
            replace(SPEC, cwd=Path("/elsewhere")),
            replace(SPEC, url="https://host/mcp"),
            replace(SPEC, url="https://host/other"),
            replace(SPEC, url="https://other/mcp"),
        ],
    )
    def test_what_runs_where_is(self, other: ServerSpec) -> None:
        assert other.key != SPEC.key


class TestPersistence:
    """A server that tries again and again, or under another name."""

    async def test_a_note_names_what_is_added_to_tools_that_are_pinned(self, file: Path) -> None:
        assert (await admit(file, READ)).notes == ()
        (note,) = (await admit(file, READ, WRITE)).notes
        assert note == "server 'notes' offers what it did not have at first: 'write'"
        assert (await admit(file, READ, WRITE)).notes == ()

    async def test_after_three_refusals_the_user_is_left_alone(self, file: Path) -> None:
        await admit(file, READ)
        pins, user = ToolPins(file), User(False, False, False)
        notes: list[str] = []
        for number in range(10):
            changed = replace(POISONED, description=f"Reads a note, version {number}.")
            admitted = await pins.admit(SPEC, [changed], user.approve)
            assert (admitted.tools, admitted.refused) == ([], ("read",))
            notes += admitted.notes
        assert (len(user.shown), len(notes)) == (3, 3)
        assert notes[-1].endswith("further changes of this server are left out unasked")
        assert (await pins.admit(SPEC, [READ], user.approve)).tools == [READ]

    async def test_a_server_that_goes_back_and_forth_asks_once_for_each_definition(
        self, file: Path
    ) -> None:
        await admit(file, READ)
        pins, user = ToolPins(file), User(False, False)
        other = replace(POISONED, description="Another.")
        for _ in range(3):
            for changed in (POISONED, other, READ):
                await pins.admit(SPEC, [changed], user.approve)
        assert len(user.shown) == 2
