"""Servers opened for the time of one command."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace

from config.servers import ServerSpec
from core.session import MultiMCP
from modules.cli.composition import Display, ServerAccess, build_dispatcher, open_display
from modules.cli.surroundings import Surroundings


@asynccontextmanager
async def opened(
    specs: Sequence[ServerSpec],
    around: Surroundings,
    display: Display,
    *,
    use_cached_tools: bool = True,
    while_asking: Callable[[], AbstractContextManager[None]] = nullcontext,
    tries_all: bool = False,
) -> AsyncGenerator[MultiMCP]:
    """A dispatcher over these servers, all of them started only when needed; they end with it.

    `while_asking` is entered while the user is asked something. With `tries_all`, servers that
    failed to start before are not left alone.

    Why a server failed is the caller's to tell (`failures`, `status`); other notices are told as
    they come.
    """

    async def on_notice(text: str) -> None:
        if not any(text.startswith(str(error)) for error in dispatcher.failures.values()):
            await display.progress.notice(text)

    access = ServerAccess(
        around.options.allow_tool_changes, use_cached_tools, on_notice, while_asking, tries_all
    )
    lazy = [replace(spec, start="lazy") for spec in specs]
    dispatcher = build_dispatcher(lazy, around.places, display, access)
    async with dispatcher:
        yield dispatcher


def display_for(around: Surroundings) -> Display:
    """Tells on stderr what happens meanwhile, as loudly as asked."""
    options = around.options
    return open_display(
        around.stderr, around.redactor, verbose=options.verbose, quiet=options.quiet
    )
