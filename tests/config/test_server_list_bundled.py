"""What the profile says of documents and the web, and how it reaches the bundled servers alone."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.schema import AgentProfile, DocumentsSection, WebSection, load_profile
from config.server_list import (
    DOCUMENTS_VARIABLE,
    KEY_VARIABLES,
    MEMORY_VARIABLE,
    WEB_VARIABLE,
    documents_environment,
    memory_environment,
    secret_values,
    server_list,
    web_environment,
)
from config.servers import ServerSpec
from config.settings import ROOT, Places, SettingsError
from servers.memory import options as memory_side
from servers.memory.options import read_options as read_memory
from servers.rag.library import options as documents_side
from servers.rag.library.options import DocumentOptions
from servers.rag.library.options import read_options as read_documents
from servers.web import options as web_side
from servers.web.options import WebOptions
from servers.web.options import read_options as read_web

HOME = Path("/srv/home")
PROFILE = ROOT / "config" / "profiles.yaml"
EVERY_KEY = {
    "BRAVE_API_KEY": "brave-key",
    "TAVILY_API_KEY": "tavily-key",
    "GEMINI_API_KEY": "gem-key",
    "OTHER_KEY": "other-key",
    "OLLAMA_HOST": "box:11434",
}


def specs(profile: AgentProfile, environ: dict[str, str]) -> dict[str, ServerSpec]:
    """The servers by id."""
    found = server_list(profile, Places(ROOT, HOME), PROFILE, environ=environ)
    return {spec.id: spec for spec in found.specs}


def keys_told(environment: Mapping[str, str]) -> set[str]:
    return {name for name in environment if name.endswith("_KEY")}


def test_the_section_of_documents_and_its_server_know_the_same_keys_and_defaults() -> None:
    ours, theirs = DocumentsSection.model_fields, DocumentOptions.model_fields
    assert set(ours) == set(theirs)
    assert DOCUMENTS_VARIABLE == documents_side.OPTIONS_VARIABLE
    told = read_documents(documents_environment(DocumentsSection(), HOME, {}))
    assert told == read_documents({"CORTEX_HOME": str(HOME)})
    for name in set(ours) - {"folders", "index_folder"}:
        assert ours[name].default == theirs[name].default, name


def test_the_documents_server_reads_what_the_section_says() -> None:
    section = {
        "folders": ["papers", "/data/docs"],
        "index_folder": "state/index",
        "ignore": ["*.tmp"],
        "embedder": "ollama:nomic-embed-text",
        "word_weight": 0.7,
        "watch": False,
    }
    given = DocumentsSection.model_validate(section)
    told = read_documents(documents_environment(given, HOME, {}))
    assert told.folders == (HOME / "papers", Path("/data/docs"))
    assert told.index_folder == HOME / "state" / "index"
    assert (told.ignore, told.watch, told.word_weight) == (("*.tmp",), False, 0.7)


@pytest.mark.parametrize(
    ("section", "names_key"),
    [
        ({}, False),
        ({"embedder": "auto", "captions": "auto"}, False),
        ({"embedder": "gemini:gemini-embedding-001"}, True),
        ({"captions": "gemini:gemini-2.5-flash"}, True),
    ],
)
def test_the_key_of_gemini_goes_along_only_where_gemini_is_named(
    section: dict[str, object], names_key: bool
) -> None:
    environ = {"GEMINI_API_KEY": "sekret-key", "OLLAMA_HOST": "box:11434", "OTHER_KEY": "x"}
    given = DocumentsSection.model_validate(section)
    told = documents_environment(given, HOME, environ)
    assert ("GEMINI_API_KEY" in told) == names_key
    assert told["OLLAMA_HOST"] == "box:11434"
    assert "OTHER_KEY" not in told


def test_only_the_bundled_documents_server_is_told(tmp_path: Path) -> None:
    script = tmp_path / "documents_server.py"
    script.touch()
    document: dict[str, object] = {
        "agent": {"name": "Test", "id": "test"},
        "documents": {"folders": ["mine"], "embedder": "gemini:x"},
        "mcp_servers": [
            {"id": "docs", "script": "servers/documents_server.py", "env": {"MORE": "1"}},
            {"id": "math", "script": "servers/math_server.py"},
            {"id": "other", "script": str(script)},
            {"id": "own", "command": "python3", "args": ["servers/documents_server.py"]},
        ],
    }
    found = specs(AgentProfile.model_validate(document), {"GEMINI_API_KEY": "sekret-key"})
    assert json.loads(found["docs"].env[DOCUMENTS_VARIABLE])["folders"] == ["/srv/home/mine"]
    assert found["docs"].env["MORE"] == "1"
    assert secret_values(found.values()) == {"sekret-key"}
    assert [found[name].env for name in ("math", "other", "own")] == [{}, {}, {}]


def test_the_section_and_the_servers_know_the_same_keys_and_defaults() -> None:
    ours, theirs = WebSection.model_fields, WebOptions.model_fields
    assert {name: field.default for name, field in ours.items()} == {
        name: field.default for name, field in theirs.items()
    }
    assert WEB_VARIABLE == web_side.OPTIONS_VARIABLE
    assert KEY_VARIABLES == web_side.KEY_VARIABLES
    assert read_web(web_environment(WebSection(), {})) == read_web({}) == WebOptions()


def test_the_server_reads_what_the_section_says() -> None:
    section = {
        "search": "searxng",
        "search_url": "http://localhost:8888",
        "allow_private": ["localhost"],
        "timeout_seconds": 5,
        "cache_seconds": 0,
    }
    told = read_web(web_environment(WebSection.model_validate(section), {}))
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
    told = read_web(specs(AgentProfile.model_validate(document), EVERY_KEY)["web"].env)
    assert told.search == "tavily"


def test_the_shipped_profile_has_the_bundled_servers() -> None:
    found = specs(load_profile(PROFILE), {})
    assert list(found) == ["math", "documents", "websearch", "memory"]
    assert all(spec.bundled and spec.start == "lazy" for spec in found.values())
    assert "search_stored_documents" in found["documents"].capabilities
    assert found["websearch"].basic_tools == ("duckduckgo_search_results",)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("documents: {folders: []}", "documents.folders"),
        ("documents: {folders: documents}", "documents.folders"),
        ("documents: {chunking: magic}", "allowed: structure or llm"),
        ("documents: {embedder: openai}", "documents.embedder"),
        ("documents: {vectors: pinecone}", "documents.vectors"),
        ("documents: {word_weight: 2}", "documents.word_weight"),
        ("documents: {watch: sometimes}", "documents.watch"),
        ("documents: {folder: [x]}", "documents.folder"),
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


def test_the_memory_server_reads_what_the_profile_says() -> None:
    assert MEMORY_VARIABLE == memory_side.OPTIONS_VARIABLE
    shipped = load_profile(PROFILE)
    told = read_memory(memory_environment(shipped, HOME, {"OLLAMA_HOST": "box:11434"}))
    assert told == read_memory({"CORTEX_HOME": str(HOME)})
    off = read_memory(memory_environment(shipped.without_memory(), HOME, {}))
    assert not off.is_on


def test_only_the_bundled_memory_server_is_told_and_of_its_profile_alone() -> None:
    document: dict[str, object] = {
        "agent": {"name": "Test", "id": "test"},
        "documents": {"embedder": "gemini:x"},
        "memory": {"mask": ["4[0-9]{3}"]},
        "mcp_servers": [
            {"id": "past", "script": "servers/memory_server.py"},
            {"id": "own", "command": "python3", "args": ["servers/memory_server.py"]},
        ],
    }
    found = specs(AgentProfile.model_validate(document), EVERY_KEY)
    told = read_memory(found["past"].env)
    assert told.folder == HOME / "memory" / "profiles" / "test"
    assert (told.embedder, told.mask) == ("gemini:x", ("4[0-9]{3}",))
    assert keys_told(found["past"].env) == {"GEMINI_API_KEY"}
    assert secret_values(found.values()) == {"gem-key"}
    assert found["own"].env == {}
