"""Pictures of a page that nobody describes: fetched under the same guard, and described."""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from servers.reading.source import PICTURES_MAX, picture_mark
from servers.web.errors import WebError
from servers.web.ports import Fetcher

PICTURES_SECONDS = 20.0
"""For all of a page: the text is waited for."""

NOT_DESCRIBED = "[image]"


async def with_pictures(
    markdown: str,
    addresses: Sequence[str],
    fetcher: Fetcher,
    describe: Callable[[bytes], Awaitable[str]],
) -> tuple[str, tuple[str, ...]]:
    """The markdown with what pictures show in their places, and notes on those that failed.

    Only those are fetched whose mark stands in the markdown.
    """
    wanted = [
        (picture_mark(number), address)
        for number, address in enumerate(addresses[:PICTURES_MAX])
        if picture_mark(number) in markdown
    ]
    said: dict[str, str] = {}

    async def show(mark: str, address: str) -> None:
        try:
            said[mark] = await describe((await fetcher.fetch(address, because="found")).body)
        except WebError:
            said[mark] = ""

    with anyio.move_on_after(PICTURES_SECONDS):
        async with anyio.create_task_group() as tasks:
            for mark, address in wanted:
                tasks.start_soon(show, mark, address)
    for mark, _ in wanted:
        markdown = markdown.replace(mark, said.get(mark) or NOT_DESCRIBED)
    for number in range(len(addresses)):
        markdown = markdown.replace(picture_mark(number), "")
    failed = sum(1 for mark, _ in wanted if not said.get(mark))
    return markdown, (f"pictures without a description: {failed}",) if failed else ()
