"""The servers of a run: where they come from, which of two counts, and what must not be shown."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.schema import AgentProfile
from config.server_list import ServerList, secret_values, server_list
from config.servers import ServerSpec
from config.settings import Places, SettingsError

NO_VARIABLES: Mapping[str, str] = {}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "root", tmp_path / "home")


def file_with(path: Path, **entries: Mapping[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return path


def listed(
    places: Places,
    *servers: Mapping[str, object],
    files: tuple[Path, ...] = (),
    environ: Mapping[str, str] = NO_VARIABLES,
) -> ServerList:
    """The list of a profile with these servers."""
    document = {"agent": {"name": "A", "id": "a"}, "mcp_servers": list(servers)}
    profile = AgentProfile.model_validate(document)
    profile_file = places.root / "config" / "profiles.yaml"
    return server_list(profile, places, profile_file, files, environ)


def ids(specs: tuple[ServerSpec, ...]) -> list[str]:
    return [spec.id for spec in specs]


def test_the_profile_comes_first_then_the_users_file_then_those_that_were_named(
    places: Places, tmp_path: Path
) -> None:
    file_with(places.mcp_file, own={"command": "y"}, off={"command": "z", "disabled": True})
    named = [file_with(tmp_path / f"{n}.json", **{f"n{n}": {"command": "x"}}) for n in (2, 1)]
    made = listed(
        places,
        {"id": "first", "command": "x"},
        {"id": "idle", "command": "x", "disabled": True},
        files=tuple(named),
    )
    assert ids(made.specs) == ["first", "own", "n2", "n1"]
    assert ids(made.disabled) == ["idle", "off"]
    assert made.notes == ()
    first, own, named_one, _ = made.specs
    assert first.origin == f"under mcp_servers in {places.root / 'config' / 'profiles.yaml'}"
    assert own.origin == f"in {places.mcp_file}"
    assert (first.cwd, own.cwd, named_one.cwd) == (places.root, places.home, tmp_path)


def test_without_any_file_there_are_the_profiles_servers_alone(places: Places) -> None:
    assert ids(listed(places, {"id": "a", "command": "x"}).specs) == ["a"]
    assert listed(places) == ServerList((), (), ())


def test_a_file_that_was_named_must_be_there(places: Places, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.json: can't be read: No such file"):
        listed(places, files=(tmp_path / "none.json",))


def test_a_file_in_the_working_directory_starts_nothing(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned repository may hold one of every name."""
    for name in (".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"):
        file_with(tmp_path / name, evil={"command": "x"})
    file_with(tmp_path / "config" / "mcp.json", evil={"command": "x"})
    monkeypatch.chdir(tmp_path)
    assert listed(places) == ServerList((), (), ())


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("a", "a", "one of that id stands"),
        ("a-b", "a_b", "'a-b', alike in a plan, stands"),
        ("import", "import_", "'import', alike in a plan, stands"),
    ],
)
@pytest.mark.parametrize("is_disabled", [True, False])
def test_of_two_that_plans_cannot_tell_apart_the_first_counts_and_a_note_names_both(
    places: Places, first: str, second: str, said: str, is_disabled: bool
) -> None:
    file_with(places.mcp_file, **{second: {"command": "y"}})
    made = listed(places, {"id": first, "command": "x", "disabled": is_disabled})
    assert ids(made.disabled if is_disabled else made.specs) == [first]
    assert len(made.specs) + len(made.disabled) == 1
    (note,) = made.notes
    assert note.startswith(f"server '{second}' in {places.mcp_file} is passed over: ")
    assert said in note
    assert note.endswith("profiles.yaml")


def test_a_file_that_is_named_twice_is_read_once(places: Places, tmp_path: Path) -> None:
    own = file_with(places.mcp_file, own={"command": "y"})
    link = tmp_path / "link.json"
    link.symlink_to(own)
    made = listed(places, files=(own, link, places.home / "config" / ".." / "config" / "mcp.json"))
    assert ids(made.specs) == ["own"]
    assert made.notes == ()


def test_notes_of_files_are_handed_on(places: Places) -> None:
    file_with(places.mcp_file, own={"command": "y", "autoApprove": []})
    (note,) = listed(places).notes
    assert "server 'own': unknown key 'autoApprove' ignored" in note


@pytest.mark.parametrize(
    ("url", "is_noted"),
    [
        ("http://example.com/mcp", True),
        ("https://example.com/mcp", False),
        ("http://127.0.0.1:8000/mcp", False),
    ],
)
def test_credentials_that_go_over_plain_http_are_noted(
    places: Places, url: str, is_noted: bool
) -> None:
    entry = {"id": "a", "url": url, "headers": {"Authorization": "Bearer s3cr3t"}}
    made = listed(places, entry)
    assert ids(made.specs) == ["a"]
    assert any("plain http" in note for note in made.notes) is is_noted
    assert "s3cr3t" not in "".join(made.notes)


def test_an_unset_variable_names_itself_the_key_and_the_file_and_leaves_the_rest(
    places: Places,
) -> None:
    file_with(places.mcp_file, gh={"command": "x", "env": {"A": "${GH_TOKEN}"}})
    broken, _, from_file = listed(
        places,
        {"id": "b", "url": "https://a", "headers": {"X": "${B_TOKEN}"}},
        {"id": "c", "command": "x"},
    ).specs
    profile = places.root / "config" / "profiles.yaml"
    assert broken.problem == (
        f"server 'b' under mcp_servers in {profile} can't be used: key 'headers.X' holds the "
        "environment variable B_TOKEN, which is not set; set it, or write ${B_TOKEN:-default}"
    )
    assert from_file.problem is not None
    assert f"server 'gh' in {places.mcp_file} can't be used: key 'env.A'" in from_file.problem


def test_secret_values_are_headers_variables_and_what_is_named_like_a_secret(
    places: Places,
) -> None:
    environ = {"A": "from-variable", "HOME": "/home/somebody", "SHORT": "abc"}
    made = listed(
        places,
        {
            "id": "a",
            "url": "https://example.com/mcp?api_key=in-the-address&page=not-a-secret",
            "headers": {
                "Authorization": "Bearer token-behind",
                "X-Other": "other-header",
                "Accept": "application/json",
                "X-Short": "abc",
            },
        },
        {
            "id": "b",
            "command": "x",
            "env": {
                "ONE": "${A}",
                "MY_API_KEY": "literal-key",
                "PLACE": "${HOME}",
                "LEVEL": "warning",
                "TINY": "${SHORT}",
            },
        },
        environ=environ,
    )
    assert secret_values(made.specs) == {
        "Bearer token-behind",
        "token-behind",
        "other-header",
        "in-the-address",
        "from-variable",
        "literal-key",
    }


def test_values_of_an_env_file_are_secret_by_their_names(places: Places, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("THE_TOKEN=from-the-file\nMODE=production\n", encoding="utf-8")
    named = file_with(tmp_path / "m.json", a={"command": "x", "envFile": ".env"})
    assert secret_values(listed(places, files=(named,)).specs) == {"from-the-file"}


def test_the_environment_of_this_process_is_what_counts_unless_another_is_given(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORTEX_TEST_WORD", "hello")
    entry = {"id": "a", "command": "${CORTEX_TEST_WORD}"}
    profile = AgentProfile.model_validate(
        {"agent": {"name": "A", "id": "a"}, "mcp_servers": [entry]}
    )
    (spec,) = server_list(profile, places, places.root / "p.yaml").specs
    assert spec.command == ("hello",)


def test_a_home_of_an_impossible_name_has_no_file(tmp_path: Path) -> None:
    assert listed(Places(tmp_path, Path("/" + "x" * 5000))) == ServerList((), (), ())


def test_secrets_in_the_words_of_a_command_count_too(places: Places) -> None:
    words = ["--token", "behind-an-option", "--api-key=in-an-option", "-e", "MY_PAT=in-a-setting"]
    words += ["postgres://app:in-an-address@db/x", "--token-file", "/etc/token-file", "--verbose"]
    made = listed(
        places,
        {"id": "a", "command": "x", "args": words, "env": {"DATABASE_URL": "pg://u:in-env%21@h/"}},
    )
    assert secret_values(made.specs) == {
        *("behind-an-option", "in-an-option", "in-a-setting", "in-an-address"),
        *("in-env%21", "in-env!"),
    }
