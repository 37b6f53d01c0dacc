"""The prompt without its terminal: commands, errors and piped lines."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from core.errors import CortexError, ExitCode, ModelUnavailable, StorageError, UsageError
from modules.terminal.input.history import kept_history
from modules.terminal.input.repl import (
    MAX_LINE_BYTES,
    Leaving,
    Repl,
    piped_lines,
)
from modules.terminal.streams import StdoutClosed

BOUND_SECONDS = 5


async def typed(lines: Sequence[str]) -> AsyncIterator[str]:
    for line in lines:
        yield line


class Session:
    """A REPL whose requests are answered from a table; records all that it does."""

    def __init__(self, answers: dict[str, ExitCode | Exception] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[str] = []
        self.said: list[tuple[str, str]] = []
        self.bugs: list[Exception] = []
        self.repl = Repl(
            self._ask,
            lambda stage, text: self.said.append((stage, text)),
            self._log_bug,
        )

    async def run(self, *lines: str) -> ExitCode:
        return await self.repl.run(typed(lines))

    async def _ask(self, request: str) -> ExitCode:
        self.asked.append(request)
        answer = self.answers.get(request, ExitCode.ANSWERED)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _log_bug(self, error: Exception) -> str:
        self.bugs.append(error)
        return f"a bug: {error}"


class TestCommands:
    async def test_lines_are_requests_in_their_order_and_empty_ones_nothing(self) -> None:
        session = Session()
        lines = ("", "  ", "  add 1 and 2\r\n", "\n", "now divide that by 2", "\t\r\n")
        assert await session.run(*lines) == ExitCode.ANSWERED
        assert session.asked == ["add 1 and 2", "now divide that by 2"]
        assert session.said == []

    async def test_the_one_who_leaves_is_not_asked_for_what_follows(self) -> None:
        session = Session({"exit": Leaving()})
        assert await session.run("a", "exit", "b") == ExitCode.ANSWERED
        assert session.asked == ["a", "exit"]
        assert session.bugs == []


class TestOutcomes:
    async def test_the_request_that_fared_worst_decides_the_exit_code(self) -> None:
        session = Session({"bad": ExitCode.NO_ANSWER, "worse": ExitCode.WORLD_FAILED})
        assert await session.run("good", "good") == ExitCode.ANSWERED
        assert await session.run("bad", "good") == ExitCode.NO_ANSWER
        assert await session.run("good", "bad") == ExitCode.NO_ANSWER
        assert await session.run("worse", "bad", "good") == ExitCode.WORLD_FAILED
        assert await session.run("bad", "", "good") == ExitCode.NO_ANSWER

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (ModelUnavailable("no model"), ExitCode.WORLD_FAILED),
            (StorageError("disk full"), ExitCode.WORLD_FAILED),
            (UsageError("too long"), ExitCode.BAD_USAGE),
        ],
    )
    async def test_an_error_is_told_and_the_prompt_goes_on(
        self, error: CortexError, code: ExitCode
    ) -> None:
        session = Session({"bad": error})
        assert await session.run("bad") == code
        assert session.said == [("loop", str(error))]
        assert await session.run("bad", "good") == code
        assert session.asked == ["bad", "bad", "good"]

    @pytest.mark.parametrize("bug", [OverflowError("int"), MemoryError(), RecursionError("deep")])
    async def test_a_bug_of_ours_is_logged_and_told_and_the_prompt_goes_on(
        self, bug: Exception
    ) -> None:
        session = Session({"bad": bug})
        assert await session.run("bad") == ExitCode.WORLD_FAILED
        assert session.bugs == [bug]
        assert session.said == [("loop", f"a bug: {bug}")]
        assert await session.run("bad", "good") == ExitCode.WORLD_FAILED
        assert session.asked == ["bad", "bad", "good"]

    async def test_without_stdout_the_prompt_ends(self) -> None:
        session = Session({"bad": StdoutClosed("gone")})
        with pytest.raises(StdoutClosed):
            await session.run("bad", "good")
        assert session.asked == ["bad"]
        assert session.bugs == []


async def lines_from(data: bytes) -> list[str]:
    """What a pipe with this content gives; written by a task, for a pipe holds 64 KiB."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)

    with os.fdopen(reading, encoding="utf-8") as stream:
        async with asyncio.timeout(BOUND_SECONDS):
            writer = asyncio.create_task(asyncio.to_thread(write))
            found = [line async for line in piped_lines(stream)]
            await writer
    return found


class TestPipedLines:
    @pytest.mark.parametrize(
        ("data", "lines"),
        [
            (b"", []),
            (b"a\nb\n", ["a", "b"]),
            (b"a\nb", ["a", "b"]),
            (b"\n\na\n", ["", "", "a"]),
            (b"a\r\nb\r\n", ["a\r", "b\r"]),
            ("grüße 🎉\n".encode(), ["grüße 🎉"]),
            (b"caf\xe9\nok\n", ["caf\ufffd", "ok"]),
            (b"a\x00b\n", ["a\x00b"]),
        ],
    )
    async def test_a_pipe_gives_its_lines(self, data: bytes, lines: list[str]) -> None:
        assert await lines_from(data) == lines

    async def test_characters_that_fall_between_two_reads_stay_whole(self) -> None:
        line = "é" * 50_000
        assert await lines_from(f"x{line}\n{line}\n".encode()) == [f"x{line}", line]

    async def test_a_line_without_end_is_cut_and_the_next_one_is_whole(self) -> None:
        found = await lines_from(b"x" * (3 * MAX_LINE_BYTES) + b"\nnext\n")
        assert [len(line) for line in found] == [MAX_LINE_BYTES, len("next")]
        assert found[1] == "next"

    async def test_a_regular_file_gives_its_lines_too(self) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            file.write("a\nb\n")
            file.seek(0)
            assert [line async for line in piped_lines(file)] == ["a", "b"]

    async def test_lines_come_when_they_are_written_not_at_the_end(self) -> None:
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as stream, os.fdopen(writing, "wb") as pipe:
            lines = piped_lines(stream)
            async with asyncio.timeout(BOUND_SECONDS):
                for text in ("one", "two"):
                    pipe.write(f"{text}\n".encode())
                    pipe.flush()
                    assert await anext(lines) == text

    async def test_waiting_for_a_line_can_be_cancelled_and_blocks_nothing(self) -> None:
        """A thread in `readline` would hold the program until somebody types."""
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as stream, os.fdopen(writing, "wb"):
            repl = asyncio.create_task(Session().repl.run(piped_lines(stream)))
            await asyncio.sleep(0)
            repl.cancel()
            async with asyncio.timeout(BOUND_SECONDS):
                with pytest.raises(asyncio.CancelledError):
                    await repl
            assert not asyncio.get_running_loop().remove_reader(stream.fileno())


class TestHistory:
    """Lines that were typed, as the next run finds them."""

    @staticmethod
    async def lines(file: Path) -> list[str]:
        return [line async for line in kept_history(file, str).load()]

    async def test_lines_are_kept_newest_first_for_this_user_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "folder" / "history"
        for line in ("add 1 and 2", "two\nlines é"):
            kept_history(file, str).append_string(line)
        assert await self.lines(file) == ["two\nlines é", "add 1 and 2"]
        assert file.stat().st_mode & 0o077 == 0

    async def test_what_is_written_has_gone_through_the_redaction(self, tmp_path: Path) -> None:
        history = kept_history(tmp_path / "history", lambda text: text.replace("secret", "*"))
        history.append_string("a secret here")
        assert history.get_strings() == ["a secret here"]
        assert await self.lines(tmp_path / "history") == ["a * here"]

    async def test_what_is_no_file_in_its_place_costs_the_history_not_the_prompt(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        for name in ("folder", "pipe"):
            history = kept_history(tmp_path / name, str)
            history.append_string("a line")
            assert history.get_strings() == ["a line"]
            assert await self.lines(tmp_path / name) == []

    async def test_a_disk_that_became_full_costs_the_history_not_the_prompt(
        self, tmp_path: Path
    ) -> None:
        history = kept_history(tmp_path / "history", str)
        (tmp_path / "history").unlink()
        (tmp_path / "history").symlink_to("/dev/full")
        history.append_string("add 1 and 2")
        assert history.get_strings() == ["add 1 and 2"]

    async def test_where_nothing_can_be_written_lines_are_kept_for_this_run(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        history = kept_history(tmp_path / "file" / "history", str)
        history.append_string("add 1 and 2")
        assert history.get_strings() == ["add 1 and 2"]
