"""Commands of the user's own: found by their files, filled in."""

import os
from pathlib import Path

import pytest

from config.settings import SettingsError
from modules.planning.guidance.commands import (
    ENTRIES_MAX,
    UserCommand,
    command_files,
    read_command,
    request_meant,
)


@pytest.mark.parametrize(
    ("template", "arguments", "request_"),
    [
        ("review $ARGUMENTS now", "a b", "review a b now"),
        ("$2 then $1 then $3.", "'a b' c", "c then a b then ."),
        ("review", "src tests", "review\n\nsrc tests"),
        ("review", "", "review"),
        ("is $$ left, and $PATH, $10?", "x", "is $$ left, and $PATH, $10?\n\nx"),
        ("say $1", "$2 $ARGUMENTS", "say $2"),
        ("say $1", "it's open", "say it's"),
        ("look at @$1", "notes.txt", "look at @notes.txt"),
        ("$ARGUMENTSX and $ARGUMENTS", "x", "$ARGUMENTSX and x"),
    ],
)
def test_arguments_go_where_the_text_says(template: str, arguments: str, request_: str) -> None:
    assert UserCommand("x", "", "", template).request(arguments) == request_


def write(folder: Path, name: str, text: str = "do it") -> Path:
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_name_commands_by_their_folders(tmp_path: Path) -> None:
    for name in ("review", "Git/Commit", "a/b/c", "a/b/c/d", ".hidden", ".git/x"):
        write(tmp_path, name)
    (tmp_path / "notes.txt").write_text("no command")
    (tmp_path / "round").symlink_to(tmp_path)
    assert sorted(name for name, _ in command_files(tmp_path)) == ["a:b:c", "git:commit", "review"]
    assert list(command_files(tmp_path / "none")) == []


def test_names_without_end_are_not_looked_at(tmp_path: Path) -> None:
    for number in range(ENTRIES_MAX + 10):
        (tmp_path / f"c{number}.md").touch()
    assert len(list(command_files(tmp_path))) == ENTRIES_MAX


def test_the_first_line_describes_a_command_that_says_nothing_of_itself(tmp_path: Path) -> None:
    path = write(tmp_path, "x", "# Tidy up\x1b[2J\n\nall of it")
    command = read_command("x", path)
    assert (command.description, command.argument_hint) == ("Tidy up\ufffd[2J", "")
    path = write(
        tmp_path, "y", "---\ndescription: d\nargument-hint: [a] [b]\nmodel: gpt\n---\nbody"
    )
    assert read_command("y", path) == UserCommand("y", "d", "[a] [b]", "body")


@pytest.mark.parametrize("name", ["2do", "a b", "\x1b[2j", "a:", "ünder", "a\nb"])
def test_a_name_that_cannot_be_typed_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can't be typed"):
        read_command(name, write(tmp_path, "x"))


def test_an_empty_command_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="asks nothing"):
        read_command("x", write(tmp_path, "x", "---\ndescription: d\n---\n \n"))


def test_a_request_of_one_run_may_be_a_command(tmp_path: Path) -> None:
    write(tmp_path / "commands", "git/sum", "add $1 and 7")
    assert request_meant("/Git:Sum  5\n", tmp_path) == "add 5 and 7"
    for request in ("/git:sums 5", "/etc/hosts: how long?", "/ x", "git:sum 5"):
        assert request_meant(request, tmp_path) == request
    os.mkfifo(tmp_path / "commands" / "pipe.md")
    with pytest.raises(SettingsError, match="not a regular file"):
        request_meant("/pipe", tmp_path)
