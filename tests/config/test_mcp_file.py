"""Reading an `mcp.json` as it was written for other tools: what is understood, what is told."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.mcp_entry import MCP_KEYS
from config.mcp_file import MAX_SERVERS, project_folder, read_mcp_file
from config.servers import CALL_TIMEOUT_SECONDS, is_server_id, plan_name, server_id_of
from config.settings import MAX_CONFIG_BYTES, SettingsError
from tests.config.mcp_json import HIDDEN, only, read, written


def error(folder: Path, text: str | object) -> str:
    path = written(folder, text)
    with pytest.raises(SettingsError) as caught:
        read_mcp_file(path, {})
    return str(caught.value).replace(str(path), "FILE")


def test_unknown_keys_are_ignored_with_a_note_that_names_file_server_and_key(
    tmp_path: Path,
) -> None:
    entry = {"command": "x", "autoApprove": [HIDDEN], "trust": True, "headers": {"A": HIDDEN}}
    file = read(tmp_path, {"mcpServers": {"a": entry}, "numStartups": 5, "inputs": []})
    path = tmp_path / "mcp.json"
    assert file.notes == (
        f"{path}: ignored beside the servers: 'numStartups'",
        f"{path}: server 'a': unknown keys 'autoApprove', 'trust' ignored",
        f"{path}: server 'a': key 'headers' ignored: only a url has a use for it",
    )
    assert file.specs[0].problem is None


def test_the_call_timeout_of_our_own_key_goes_before_that_of_others(tmp_path: Path) -> None:
    assert only(tmp_path, {"command": "x"}).call_timeout_seconds == CALL_TIMEOUT_SECONDS


def test_notes_stay_short_whatever_a_file_holds(tmp_path: Path) -> None:
    entry = {"command": "x", **{f"key{n}{'x' * 100}\x1b": n for n in range(1000)}}
    file = read(tmp_path, {"mcpServers": {"a": entry}, **{f"k{n}": 1 for n in range(1000)}})
    assert all(len(note) < 2000 for note in file.notes)
    assert "\x1b" not in "".join(file.notes)
    assert file.notes[0].endswith("and 990 more")


class TestNames:
    def test_a_name_that_is_no_id_becomes_one_with_a_note(self, tmp_path: Path) -> None:
        file = read(tmp_path, {"mcpServers": {"My Server!": {"command": "x"}}})
        assert file.specs[0].id == "My-Server"
        assert file.notes == (
            f"{tmp_path / 'mcp.json'}: server 'My Server!' is called 'My-Server' here: a name "
            "starts with a letter and holds letters, digits, '-' and '_'",
        )

    @pytest.mark.parametrize(
        "names", [("My-Server", "My Server!"), ("a-b", "a_b"), ("import", "import_"), ("é", "e")]
    )
    def test_the_second_of_two_names_that_mean_one_id_can_not_be_used(
        self, tmp_path: Path, names: tuple[str, str]
    ) -> None:
        file = read(tmp_path, {"mcpServers": {name: {"command": "x"} for name in names}})
        first, second = file.specs
        assert first.problem is None
        assert second.problem is not None
        assert f"{names[1]!r} and {names[0]!r} mean the same id here; rename one" in second.problem
        assert plan_name(first.id) != plan_name(second.id)

    def test_an_id_that_was_made_up_takes_nobodys_name(self, tmp_path: Path) -> None:
        names = ("a b", "a!b", "a-b-2")
        file = read(tmp_path, {"mcpServers": {name: {"command": "x"} for name in names}})
        assert [(spec.id, spec.problem is None) for spec in file.specs] == [
            ("a-b", True),
            ("a-b-3", False),
            ("a-b-2", True),
        ]

    @pytest.mark.parametrize(
        ("name", "server_id"),
        [
            ("math", "math"),
            ("@acme/web search", "acme-web-search"),
            ("1password", "server-1password"),
            ("_x-", "x"),
            ("Wörter", "Worter"),
            ("日本", "server"),
            ("", "server"),
            ("a" * 500 + "!", "a" * 64),
        ],
    )
    def test_what_is_left_of_a_name(self, name: str, server_id: str) -> None:
        assert server_id_of(name) == server_id

    @given(st.text(max_size=80))
    def test_every_name_becomes_an_id_and_an_id_stays(self, name: str) -> None:
        made = server_id_of(name)
        assert is_server_id(made)
        assert server_id_of(made) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE:1: not valid JSON: Expecting value"),
        ('{\n // x\n"mcpServers": {1}}', "FILE:3: not valid JSON: Expecting property name"),
        ('{"mcpServers": {"a": {}, "a": {}}}', "FILE: not valid JSON: key 'a' stands twice"),
        ("[" * 100_000, "FILE: not valid JSON"),
        ("[]", "FILE: expected a section with the key 'mcpServers' or 'servers'"),
        ('{"mcpServers": [1]}', "FILE: 'mcpServers' is not a section of names and servers"),
        ('{"a": {"command": "x"}}', "FILE: there is no key 'mcpServers' or 'servers'; the serv"),
        ({"servers": dict.fromkeys(map(str, range(MAX_SERVERS + 1)))}, "FILE: 201 servers; at m"),
        (" " * (MAX_CONFIG_BYTES + 1), f"FILE: larger than {MAX_CONFIG_BYTES} bytes"),
    ],
)
def test_a_file_that_is_none_is_told_so_with_its_line(
    tmp_path: Path, text: str | object, message: str
) -> None:
    assert error(tmp_path, text).startswith(message)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.json: can't be read: No such file"):
        read_mcp_file(tmp_path / "none.json", {})


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/p/.vscode/mcp.json", "/p"),
        ("/p/.mcp.json", "/p"),
        ("/p/config/mcp.json", "/p/config"),
    ],
)
def test_the_project_is_the_folder_that_the_file_belongs_to(path: str, folder: str) -> None:
    assert project_folder(Path(path)) == Path(folder)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from([*MCP_KEYS, "unknown"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(max_size=8), st.dictionaries(KEYS, JSON_VALUES, max_size=6) | JSON_VALUES
    )
)
def test_whatever_entries_hold_every_server_is_there_once(
    tmp_path: Path, servers: dict[str, object]
) -> None:
    file = read(tmp_path, {"servers": servers})
    specs = (*file.specs, *file.disabled)
    assert len(specs) == len(servers) == len({plan_name(spec.id) for spec in specs})
    assert all(spec.problem or spec.command or spec.url for spec in specs)
