"""Which tools are known, and what a name means among them."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.servers import ServerSpec
from core.dispatch.known_tools import CACHE_FORMAT, ToolCache, ToolRegistry, fingerprint
from core.errors import CallRefused
from core.tools.spec import ToolSpec


def tool(server: str, name: str) -> ToolSpec:
    return ToolSpec(server, name, "", {})


def test_servers_stay_in_the_order_of_the_configuration_however_late_they_are() -> None:
    registry = ToolRegistry(["a", "b"])
    registry.learn("b", [tool("b", "look"), tool("b", "run")], ())
    registry.learn("a", [tool("a", "look")], ())
    assert [*registry.server_tools] == ["a", "b"]
    assert [*registry.tool_map] == ["a.look", "b.look", "run"]
    registry.learn("a", [], ())
    assert [*registry.tool_map] == ["look", "run"]


def test_a_tool_that_was_left_out_is_refused_with_the_reason() -> None:
    registry = ToolRegistry(["a", "b"])
    registry.learn("a", [], ["look"])
    for name in ("look", "a.look"):
        with pytest.raises(CallRefused, match=r"'a\.look' is left out: its definition is not"):
            registry.resolve(name)
    with pytest.raises(CallRefused, match=r"there is no tool 'b\.look'"):
        registry.resolve("b.look")
    registry.learn("b", [tool("b", "look")], ())
    assert registry.resolve("look").server == "b"
    registry.learn("a", [tool("a", "look")], ())
    assert registry.resolve("a.look").server == "a"


# The tool lists on disk: what makes one hold, and what makes it count as absent.

TOOLS = [
    ToolSpec("s", "add", "adds", {"type": "object"}, {"type": "object"}, True, True),
    ToolSpec("s", "rm", "", {"type": "object", "properties": {}}, says_effects=True),
]


@pytest.fixture
def spec(tmp_path: Path) -> ServerSpec:
    folder = tmp_path / "servers"
    folder.mkdir()
    (folder / "server.py").write_text("one")
    (folder / "engine.py").write_text("one")
    return ServerSpec(
        "s", (sys.executable, "servers/server.py", "--fast"), tmp_path, {"TOKEN": "secret"}
    )


def stored_file(cache_folder: Path) -> Path:
    (path,) = cache_folder.iterdir()
    return path


def test_what_was_stored_is_loaded(spec: ServerSpec, tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "cache" / "tools")
    assert cache.load(spec) is None
    cache.store(spec, TOOLS)
    assert cache.load(spec) == TOOLS
    assert ToolCache(tmp_path / "cache" / "tools").load(spec) == TOOLS
    cache.store(spec, [])
    assert cache.load(spec) == []


def test_no_secret_is_written(spec: ServerSpec, tmp_path: Path) -> None:
    ToolCache(tmp_path / "cache").store(spec, TOOLS)
    assert "secret" not in stored_file(tmp_path / "cache").read_text()


def has_changed(cache: ToolCache, spec: ServerSpec) -> bool:
    listing = cache.listing(spec)
    assert listing is not None
    assert listing.tools == TOOLS
    return listing.has_changed


@pytest.mark.parametrize("name", ["server.py", "engine.py", "new.py"])
def test_a_changed_file_beside_the_script_is_noticed_and_the_list_still_known(
    spec: ServerSpec, tmp_path: Path, name: str
) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)
    assert not has_changed(cache, spec)
    (spec.cwd / "servers" / name).write_text("two, longer")
    assert has_changed(cache, spec)


def test_a_touched_script_is_noticed(spec: ServerSpec, tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)
    os.utime(spec.cwd / "servers" / "server.py", ns=(1, 1))
    assert has_changed(cache, spec)


@pytest.mark.parametrize(
    "name", ["notes.db", "calls.log", "state.json", "settings.yaml", "journal", "table.csv"]
)
def test_a_data_file_among_the_arguments_may_change_with_each_call(
    spec: ServerSpec, tmp_path: Path, name: str
) -> None:
    data = tmp_path / name
    data.write_text("one")
    with_data = replace(spec, command=(*spec.command, str(data)))
    cache = ToolCache(tmp_path / "cache")
    cache.store(with_data, TOOLS)
    data.write_text("one, and another call")
    assert not has_changed(cache, with_data)


@pytest.mark.parametrize("name", ["index.js", "start.sh", "server.jar", "launcher"])
def test_a_program_among_the_arguments_is_watched(
    spec: ServerSpec, tmp_path: Path, name: str
) -> None:
    program = tmp_path / name
    program.write_text("one")
    program.chmod(0o755)
    wrapped = replace(spec, command=("env", str(program)))
    cache = ToolCache(tmp_path / "cache")
    cache.store(wrapped, TOOLS)
    assert not has_changed(cache, wrapped)
    program.write_text("two, longer")
    assert has_changed(cache, wrapped)


def test_an_older_list_of_our_own_server_gives_way_to_the_one_that_ships(tmp_path: Path) -> None:
    script = tmp_path / "documents_server.py"
    script.write_text("one")
    ours = ServerSpec("documents", (sys.executable, str(script)), tmp_path, bundled=True)
    cache = ToolCache(tmp_path / "cache")
    cache.store(ours, TOOLS)
    assert [tool.name for tool in cache.load(ours) or ()] == [tool.name for tool in TOOLS]
    script.write_text("two, longer")
    listing = cache.listing(ours)
    assert listing is not None
    assert not listing.has_changed
    assert "list_documents" in [tool.name for tool in listing.tools]


def test_a_module_is_watched_like_a_script(spec: ServerSpec) -> None:
    module = replace(spec, command=(sys.executable, "-m", "servers.server"))
    before = fingerprint(module)
    (spec.cwd / "servers" / "engine.py").write_text("two, longer")
    assert fingerprint(module) != before


def test_what_starts_the_server_is_part_of_the_key(spec: ServerSpec, tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)
    (tmp_path / "elsewhere").mkdir()
    for other in [
        replace(spec, command=(*spec.command, "--more")),
        replace(spec, cwd=tmp_path / "elsewhere"),
        replace(spec, env={"TOKEN": "secret", "MORE": ""}),
        replace(spec, id="t"),
    ]:
        assert cache.load(other) is None
    assert cache.load(replace(spec, env={"TOKEN": "another"})) == TOOLS


def test_where_the_user_is_is_not(spec: ServerSpec, tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(replace(spec, runs_in=tmp_path / "here"), TOOLS)
    assert cache.load(replace(spec, runs_in=tmp_path / "there")) == TOOLS


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[1]",
        b"[" * 100_000,
        b'{"format": 0, "tools": []}',
    ],
)
def test_a_damaged_or_foreign_file_counts_as_absent(
    spec: ServerSpec, tmp_path: Path, damage: bytes
) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)
    stored_file(tmp_path / "cache").write_bytes(damage)
    assert cache.load(spec) is None


@pytest.mark.parametrize("tools", [None, {}, [None], [{"name": "a"}], ["a"]])
def test_a_file_of_another_form_counts_as_absent(
    spec: ServerSpec, tmp_path: Path, tools: object
) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)
    content = {"format": CACHE_FORMAT, "fingerprint": fingerprint(spec), "tools": tools}
    stored_file(tmp_path / "cache").write_text(json.dumps(content))
    assert cache.load(spec) is None


@given(cut=st.integers(min_value=0))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_a_file_that_was_cut_short_counts_as_absent(
    spec: ServerSpec, tmp_path: Path, cut: int
) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)
    path = stored_file(tmp_path / "cache")
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % len(whole)])
    assert cache.load(spec) is None


def test_a_folder_that_cannot_be_written_means_no_cache(spec: ServerSpec, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ToolCache(tmp_path / "file" / "cache")
    cache.store(spec, TOOLS)
    assert cache.load(spec) is None


def test_a_store_that_fails_leaves_the_old_list_and_no_litter(
    spec: ServerSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ToolCache(tmp_path / "cache")
    cache.store(spec, TOOLS)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    cache.store(spec, [])
    assert cache.load(spec) == TOOLS
    stored_file(tmp_path / "cache")


def test_words_that_cannot_be_paths_are_no_error(spec: ServerSpec) -> None:
    assert fingerprint(replace(spec, command=("sh", "-c", "x" * 5000, "-m")))


def test_an_upgraded_program_is_noticed(spec: ServerSpec, tmp_path: Path) -> None:
    program = tmp_path / "some-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    installed = replace(spec, command=(str(program),))
    cache = ToolCache(tmp_path / "cache")
    cache.store(installed, TOOLS)
    assert not has_changed(cache, installed)
    os.utime(program, ns=(1, 1))
    assert has_changed(cache, installed)


def test_a_url_and_the_names_of_its_headers_are_what_a_remote_server_is(tmp_path: Path) -> None:
    here = ServerSpec("s", (), tmp_path, url="http://127.0.0.1/a", headers={"X-Key": "secret"})
    cache = ToolCache(tmp_path / "cache")
    cache.store(here, TOOLS)
    assert cache.load(replace(here, headers={"X-Key": "another"})) == TOOLS
    assert cache.load(replace(here, headers={})) is None
    assert cache.load(replace(here, url="http://127.0.0.1/b")) is None
    assert "secret" not in stored_file(tmp_path / "cache").read_text()


def test_a_list_that_was_not_confirmed_for_long_is_old_unless_the_server_is_ours(
    spec: ServerSpec, tmp_path: Path
) -> None:
    cache = ToolCache(tmp_path / "cache")
    assert cache.is_old(spec)
    cache.store(spec, TOOLS)
    assert not cache.is_old(spec)
    os.utime(stored_file(tmp_path / "cache"), (1, 1))
    assert cache.is_old(spec)
    assert not cache.is_old(replace(spec, bundled=True))
    cache.store(spec, TOOLS)
    assert not cache.is_old(spec)
