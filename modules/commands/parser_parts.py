"""What the parsers of all commands share: messages, options, and how options are read. Light."""

import argparse
from pathlib import Path
from typing import NoReturn

from modules.arguments import add_loudness_options, add_source_options
from modules.commands.command import Options


class CommandParser(argparse.ArgumentParser):
    """Says how a request is told from a command, and where help is."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; `prog` is the program, the command, and for `mcp` its action."""
        program, command, *_ = self.prog.split()
        super().error(
            f"{message}\nhelp: {self.prog} --help; "
            f"a request that begins with this word goes behind --: {program} -- {command} …"
        )


def command_parser(prog: str, description: str, epilog: str | None = None) -> CommandParser:
    """A parser whose help is printed as it is written."""
    return CommandParser(
        prog=prog,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_options(parser: CommandParser) -> None:
    """The options that every command takes."""
    parser.add_argument("--json", action="store_true", help="JSON on stdout, for scripts")
    add_source_options(parser)
    add_loudness_options(parser, "show more")


def read_options(found: argparse.Namespace) -> Options:
    """What was said with them."""
    return Options(
        profile=Path(found.profile) if found.profile is not None else None,
        mcp_config=tuple(map(Path, found.mcp_config)),
        allow_tool_changes=found.allow_tool_changes,
        json=found.json,
        verbose=found.verbose,
        quiet=found.quiet,
    )
