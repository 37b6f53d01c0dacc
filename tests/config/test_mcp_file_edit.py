"""Adding and removing servers in an `mcp.json`: nothing else in the file is lost."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.mcp_file import add_server, read_mcp_file, remove_server, store, switch_server
from config.settings import SettingsError

HIDDEN = "s3cr3t-value"
ENTRY = {"command": "npx", "args": ["-y", "clock"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "mcp.json"


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return text


def test_the_first_server_makes_the_file_for_its_owner_alone(path: Path) -> None:
    add_server(path, "clock", ENTRY)
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {"clock": ENTRY}}
    assert path.read_text(encoding="utf-8").endswith("}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["mcp.json"], "no draft stays"
    (spec,) = read_mcp_file(path, {}).specs
    assert spec.command == ("npx", "-y", "clock")


def test_order_unknown_keys_indentation_and_letters_stay(path: Path) -> None:
    old = (
        '{\n\t"z": 1.5,\n\t"servers": {\n\t\t"ä": {\n\t\t\t"command": "x",\n'
        '\t\t\t"own": {}\n\t\t}\n\t},\n\t"a": true\n}\n'
    )
    written(path, old)
    add_server(path, "clock", {"command": "y"})
    assert path.read_text(encoding="utf-8") == old.replace(
        "{}\n\t\t}\n\t}", '{}\n\t\t},\n\t\t"clock": {\n\t\t\t"command": "y"\n\t\t}\n\t}'
    )
    remove_server(path, "clock")
    assert path.read_text(encoding="utf-8") == old


@settings(max_examples=30)
@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text(), max_size=3))
def test_what_was_added_and_removed_again_leaves_the_file_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, letters: str, others: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("home") / "mcp.json"
    document = {**others, "mcpServers": {"kept": {"command": "x", "note": letters}}}
    path.write_text(json.dumps(document), encoding="utf-8")
    add_server(path, "clock", {**ENTRY, "description": letters})
    remove_server(path, "clock")
    assert json.loads(path.read_text(encoding="utf-8")) == document


@pytest.mark.parametrize("text", ['{"servers": null}', "{}", '{"mcpServers": {}}'])
def test_a_file_without_servers_gets_its_first(path: Path, text: str) -> None:
    written(path, text)
    add_server(path, "clock", ENTRY)
    assert [spec.id for spec in read_mcp_file(path, {}).specs] == ["clock"]


def test_mode_and_link_of_a_file_that_is_there_stay(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    written(target, "{}")
    target.chmod(0o640)
    path.parent.mkdir()
    path.symlink_to(target)
    add_server(path, "clock", ENTRY)
    assert path.is_symlink()
    assert "clock" in target.read_text(encoding="utf-8")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["My Server!", "1a", "", "a.b", "-a", "a\n"])
def test_a_name_that_is_no_id_is_refused_with_one_that_is(path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="a name starts with a letter") as caught:
        add_server(path, name, ENTRY)
    assert "would do" in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize("name", ["My-Server", "My_Server", "clock"])
def test_a_name_that_is_taken_is_refused(path: Path, name: str) -> None:
    old = written(path, '{"servers": {"My Server!": {}}, "mcpServers": {"clock": {}}}')
    with pytest.raises(SettingsError, match="is there already; remove it first, or add"):
        add_server(path, name, ENTRY)
    assert path.read_text(encoding="utf-8") == old


def test_an_entry_with_a_mistake_is_not_added(path: Path) -> None:
    with pytest.raises(SettingsError, match="server 'clock' is not added: key 'args' is text"):
        add_server(path, "clock", {"command": "x", "args": HIDDEN})
    with pytest.raises(SettingsError, match="key 'url' is no usable address"):
        add_server(path, "clock", {"url": f"{HIDDEN}.example.com"})
    with pytest.raises(SettingsError, match=r"key 'headers\.A' holds a character"):
        add_server(path, "clock", {"url": "https://a", "headers": {"A": f"{HIDDEN}\n"}})
    assert not path.exists()


def test_variables_that_are_not_set_yet_do_not_keep_a_server_out(path: Path) -> None:
    entry = {"url": "${BASE}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    add_server(path, "issues", entry)
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {"issues": entry}}


def test_a_server_goes_by_its_name_or_by_its_id(path: Path) -> None:
    written(path, '{"mcpServers": {"a": {}, "b c": {}}, "servers": {"d": {}, "e": {}}}')
    for name in ("b c", "d"):
        remove_server(path, name)
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "mcpServers": {"a": {}},
        "servers": {"e": {}},
    }
    written(path, '{"mcpServers": {"b c": {}}}')
    remove_server(path, "b-c")
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {"clock": {}, "math": {}}}', r"no server 'clok'; did you mean 'clock'\?$"),
        ('{"mcpServers": {"math": {}}}', "no server 'clok'$"),
        ('{"mcpServers": {}}', "no server 'clok'; it names no server"),
        (None, "no server 'clok'; it names no server"),
    ],
)
def test_a_server_that_is_not_there_is_answered_with_the_nearest_names(
    path: Path, text: str | None, said: str
) -> None:
    if text is not None:
        written(path, text)
    with pytest.raises(SettingsError, match=said):
        remove_server(path, "clok")
    assert path.exists() is (text is not None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {"a": {}}} // mine', "it holds comments, which would be lost"),
        ('{"mcpServers": {"a": {}}, "n": 1e999}', "holds a number that JSON can't write"),
        ('{"mcpServers": {"a": {}}', "not valid JSON"),
        ('{"mcpServers": {"a": {}}, "x": "' + "x" * 1024 * 1024 + '"}', "larger than"),
    ],
)
def test_a_file_that_cannot_be_kept_whole_is_not_touched(path: Path, text: str, said: str) -> None:
    written(path, text)
    with pytest.raises(SettingsError, match=said):
        add_server(path, "clock", ENTRY)
    with pytest.raises(SettingsError, match=said):
        remove_server(path, "a")
    assert path.read_text(encoding="utf-8") == text


def test_a_file_is_not_written_larger_than_it_could_be_read(path: Path) -> None:
    old = written(path, '{"mcpServers": {}, "x": "' + "x" * (1024 * 1024 - 100) + '"}')
    with pytest.raises(SettingsError, match="it would be larger than"):
        add_server(path, "clock", {"command": "y" * 200})
    assert path.read_text(encoding="utf-8") == old


def test_a_change_by_somebody_else_in_between_is_not_overwritten(path: Path) -> None:
    written(path, '{"mcpServers": {"theirs": {}}}')
    with pytest.raises(SettingsError, match="somebody has changed it just now; try again"):
        store(path, {"mcpServers": {"clock": ENTRY}}, '{"mcpServers": {}}')
    assert "theirs" in path.read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mcp\.json: can't be (read|written): "):
        add_server(tmp_path / "config" / "mcp.json", "clock", ENTRY)


def test_words_that_are_no_utf_8_are_written_as_escapes(path: Path) -> None:
    """Arguments of a command line may hold any byte."""
    add_server(path, "clock", {"command": "x", "args": ["a\udcffb"]})
    (spec,) = read_mcp_file(path, {}).specs
    assert spec.command == ("x", "a\udcffb")


def test_of_many_who_add_at_once_nobody_loses_a_server_unsaid(path: Path) -> None:
    """Each either stands in the file afterwards or was told to try again."""

    def add(number: int) -> str:
        try:
            add_server(path, f"s{number}", ENTRY)
        except SettingsError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        told = [*pool.map(add, range(40))]
    added = {f"s{number}" for number, error in enumerate(told) if not error}
    assert {spec.id for spec in read_mcp_file(path, {}).specs} == added
    errors = {error for error in told if error}
    assert errors <= {f"{path}: somebody has changed it just now; try again"}


def test_a_server_is_switched_off_and_on_by_its_own_key_and_all_else_stays(path: Path) -> None:
    old = written(path, '{\n  "servers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n')
    switch_server(path, "a", on=False)
    assert json.loads(path.read_bytes()) == {"servers": {"a": {"command": "x", "disabled": True}}}
    (spec,) = read_mcp_file(path, {}).disabled
    assert spec.id == "a"
    switch_server(path, "a", on=True)
    assert path.read_text(encoding="utf-8") == old


def test_the_key_of_other_programs_is_understood_when_switching(path: Path) -> None:
    written(path, '{"mcpServers": {"My Server": {"command": "x", "enabled": false}}}')
    switch_server(path, "My-Server", on=True)
    assert json.loads(path.read_bytes()) == {"mcpServers": {"My Server": {"command": "x"}}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"mcpServers": {"b": {"command": "x"}}}', "there is no server"),
        ('{"mcpServers": {"a": 7}}', "is no section"),
        ('{"mcpServers": {"a": {"command": "x"}}} // mine', "comments"),
        ("{", "not valid JSON"),
    ],
)
def test_what_cannot_be_switched_stays_as_it_was(path: Path, text: str, told: str) -> None:
    written(path, text)
    with pytest.raises(SettingsError, match=told):
        switch_server(path, "a", on=False)
    assert path.read_text(encoding="utf-8") == text
