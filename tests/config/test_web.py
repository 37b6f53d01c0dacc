"""The profile's `web` and `security` sections, and how they reach the bundled servers alone."""

import json
from pathlib import Path

import pytest

from config.bundled import KEY_VARIABLES, WEB_VARIABLE, web_environment
from config.http_address import is_host
from config.schema import AgentProfile, SecuritySection, WebSection, load_profile
from config.server_list import secret_values, server_list
from config.servers import ServerSpec
from config.settings import ROOT, Places, SettingsError
from servers.web import options as server_side
from servers.web.options import WebOptions, read_options

HOME = Path("/srv/home")
PROFILE = ROOT / "config" / "profiles.yaml"
EVERY_KEY = {
    "BRAVE_API_KEY": "brave-key",
    "TAVILY_API_KEY": "tavily-key",
    "GEMINI_API_KEY": "gem-key",
    "OTHER_KEY": "other-key",
    "OLLAMA_HOST": "box:11434",
}


def shipped() -> AgentProfile:
    return load_profile(PROFILE)


def specs(profile: AgentProfile, environ: dict[str, str]) -> dict[str, ServerSpec]:
    """The servers by id."""
    found = server_list(profile, Places(ROOT, HOME), PROFILE, environ=environ)
    return {spec.id: spec for spec in found.specs}


def keys_told(environment: dict[str, str]) -> set[str]:
    return {name for name in environment if name.endswith("_KEY")}


def test_the_section_and_the_servers_know_the_same_keys_and_defaults() -> None:
    ours, theirs = WebSection.model_fields, WebOptions.model_fields
    assert {name: field.default for name, field in ours.items()} == {
        name: field.default for name, field in theirs.items()
    }
    assert WEB_VARIABLE == server_side.OPTIONS_VARIABLE
    assert KEY_VARIABLES == server_side.KEY_VARIABLES
    assert read_options(web_environment(WebSection(), {})) == read_options({}) == WebOptions()


def test_the_shipped_sections_say_the_defaults_key_by_key() -> None:
    profile = shipped()
    assert (profile.web, profile.security) == (WebSection(), SecuritySection())
    assert profile.web.model_fields_set == set(WebSection.model_fields)
    assert profile.security.model_fields_set == set(SecuritySection.model_fields)


def test_the_server_reads_what_the_section_says() -> None:
    section = {
        "search": "searxng",
        "search_url": "http://localhost:8888",
        "allow_private": ["localhost"],
        "timeout_seconds": 5,
        "cache_seconds": 0,
    }
    told = read_options(web_environment(WebSection.model_validate(section), {}))
    assert (told.search, told.search_url) == ("searxng", "http://localhost:8888")
    assert (told.allow_private, told.timeout_seconds) == (("localhost",), 5.0)
    assert (told.cache_seconds, told.pages_per_minute) == (0.0, 20)


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        ({}, set[str]()),
        ({"captions": "auto"}, set[str]()),
        ({"search": "brave"}, {"BRAVE_API_KEY"}),
        ({"search": "tavily"}, {"TAVILY_API_KEY"}),
        ({"captions": "gemini:gemini-3.8-flash"}, {"GEMINI_API_KEY"}),
        ({"search": "brave", "captions": "gemini:x"}, {"BRAVE_API_KEY", "GEMINI_API_KEY"}),
    ],
)
def test_a_key_goes_along_only_where_its_service_is_named(
    section: dict[str, object], keys: set[str]
) -> None:
    given = WebSection.model_validate(section)
    told = web_environment(given, EVERY_KEY)
    assert keys_told(told) == keys
    assert told["OLLAMA_HOST"] == "box:11434"
    assert keys_told(web_environment(given, EVERY_KEY, searches=False)) == keys - set(
        KEY_VARIABLES.values()
    )


def test_only_the_bundled_servers_that_read_the_web_are_told(tmp_path: Path) -> None:
    script = tmp_path / "websearch_server.py"
    script.touch()
    document: dict[str, object] = {
        "agent": {"name": "Test", "id": "test"},
        "web": {"search": "brave", "timeout_seconds": 7},
        "mcp_servers": [
            {"id": "web", "script": "servers/websearch_server.py", "env": {"MORE": "1"}},
            {"id": "docs", "script": "servers/documents_server.py"},
            {"id": "math", "script": "servers/math_server.py"},
            {"id": "other", "script": str(script)},
            {"id": "own", "command": "python3", "args": ["servers/websearch_server.py"]},
        ],
    }
    found = specs(AgentProfile.model_validate(document), EVERY_KEY)
    for name in ("web", "docs"):
        assert json.loads(found[name].env[WEB_VARIABLE])["timeout_seconds"] == 7
    assert (found["web"].env["BRAVE_API_KEY"], found["web"].env["MORE"]) == ("brave-key", "1")
    assert keys_told(dict(found["docs"].env)) == set()
    assert secret_values(found.values()) == {"brave-key"}
    assert [found[name].env for name in ("math", "other", "own")] == [{}, {}, {}]


def test_what_the_servers_entry_sets_itself_counts_more() -> None:
    document: dict[str, object] = {
        "agent": {"name": "Test", "id": "test"},
        "mcp_servers": [
            {
                "id": "web",
                "script": "servers/websearch_server.py",
                "env": {WEB_VARIABLE: '{"search": "tavily"}', "TAVILY_API_KEY": "mine"},
            }
        ],
    }
    told = read_options(specs(AgentProfile.model_validate(document), EVERY_KEY)["web"].env)
    assert told.search == "tavily"


def test_the_shipped_profile_has_the_server() -> None:
    found = specs(shipped(), {})
    assert list(found) == ["math", "documents", "websearch"]
    assert found["websearch"].bundled
    assert found["websearch"].basic_tools == ("duckduckgo_search_results",)
    assert found["websearch"].start == "lazy"


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("web: {search: google}", "allowed: duckduckgo, searxng, brave or tavily"),
        ("web: {search: searxng}", "'web': searxng needs 'search_url'"),
        ("web: {search_url: 'ftp://x'}", "'web.search_url' is 'ftp://x': no address"),
        ("web: {search_url: 'http://me:pw@x/'}", "without a password"),
        ("web: {allow_private: wiki.local}", "'web.allow_private' is 'wiki.local'; expected a"),
        ("web: {allow_private: ['http://x']}", "'http://x' is no host; allowed: names"),
        ("web: {robots: maybe}", "allowed: found, always or never"),
        ("web: {captions: openai}", "web.captions"),
        ("web: {searches_per_minute: 0}", "web.searches_per_minute"),
        ("web: {timeout_seconds: '5'}", "web.timeout_seconds"),
        ("web: {timeout_seconds: 0}", "web.timeout_seconds"),
        ("web: {page_bytes: yes}", "web.page_bytes"),
        ("web: {cache_seconds: -1}", "web.cache_seconds"),
        ("web: {proxy: x}", "unknown key 'web.proxy'; allowed here: search, search_url"),
        ("security: {provenance: on}", "allowed: auto, strict, ask or off"),
        ("security: {approvals: sometimes}", "allowed: never, changing or always"),
        ("security: {link_sources: 'x'}", "security.link_sources"),
        ("security: {listing_tools: ['a b.c']}", "security.listing_tools"),
    ],
)
def test_mistakes_are_told_with_file_line_and_key(tmp_path: Path, section: str, told: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(f"agent: {{name: Test, id: test}}\n{section}\n")
    with pytest.raises(SettingsError) as wrong:
        load_profile(path)
    assert f"{path}:2" in str(wrong.value)
    assert told in str(wrong.value)


@pytest.mark.parametrize("written", ["off", "'off'", "no", "strict", "ask", "auto"])
def test_off_is_off_though_yaml_takes_it_for_false(tmp_path: Path, written: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(f"agent: {{name: Test, id: test}}\nsecurity: {{provenance: {written}}}\n")
    found = load_profile(path).security.provenance
    assert found == {"'off'": "off", "no": "off"}.get(written, written)


@pytest.mark.parametrize(
    "host",
    [
        *("wiki.local", "localhost", "127.0.0.1", "127.0.0.1:8080", "a:80", "köln.example", "a"),
        *("::1", "[::1]", "[::1]:8080", "fd00::7"),
    ],
)
def test_a_host_stands_as_in_a_url(host: str) -> None:
    assert is_host(host)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "http://a",
            "a/b",
            "a:http",
            "a:123456",
            ":80",
            "*.local",
            "me@a",
            "a b",
            "a?b",
            "a#b",
        ),
        *("a\\b", "a\n", "[a]", "fe80::1%eth0", "x" * 261),
    ],
)
def test_what_is_more_or_less_than_a_host_is_refused(text: str) -> None:
    assert not is_host(text)
