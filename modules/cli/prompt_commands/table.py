"""The one table of the commands that can be typed at the prompt."""

from typing import Final

from modules.cli.first_run import FIRST_RUN_COMMANDS
from modules.cli.prompt_commands.command import GROUPS, PromptCommand
from modules.cli.prompt_commands.memory import MEMORY_COMMANDS
from modules.cli.prompt_commands.permissions import PERMISSION_COMMANDS
from modules.cli.prompt_commands.requests import REQUEST_COMMANDS
from modules.cli.prompt_commands.servers import SERVER_COMMANDS
from modules.cli.prompt_commands.sessions import SESSION_COMMANDS
from modules.cli.prompt_commands.settings import SETTING_COMMANDS
from modules.cli.prompt_commands.terminal import TERMINAL_COMMANDS
from modules.cli.prompt_commands.user_commands import SKILL_COMMANDS

COMMANDS_AT_PROMPT: Final[tuple[PromptCommand, ...]] = tuple(
    sorted(
        (
            *REQUEST_COMMANDS,
            *SESSION_COMMANDS,
            *MEMORY_COMMANDS,
            *SERVER_COMMANDS,
            *SKILL_COMMANDS,
            *SETTING_COMMANDS,
            *FIRST_RUN_COMMANDS,
            *PERMISSION_COMMANDS,
            *TERMINAL_COMMANDS,
        ),
        key=lambda command: GROUPS.index(command.group),
    )
)
"""All of them, group by group."""
