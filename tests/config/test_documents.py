"""The profile's `documents` section, and how it reaches the bundled documents server alone."""

import json
from pathlib import Path

import pytest

from config.bundled import DOCUMENTS_VARIABLE, documents_environment
from config.schema import AgentProfile, DocumentsSection, load_profile
from config.server_list import secret_values, server_list
from config.servers import ServerSpec
from config.settings import ROOT, Places, SettingsError
from servers.rag.library import options as server_side
from servers.rag.library.options import DocumentOptions, read_options

HOME = Path("/srv/home")
PROFILE = ROOT / "config" / "profiles.yaml"


def shipped() -> AgentProfile:
    return load_profile(PROFILE)


def test_the_section_and_the_server_know_the_same_keys_and_defaults() -> None:
    ours, theirs = DocumentsSection.model_fields, DocumentOptions.model_fields
    assert set(ours) == set(theirs)
    assert DOCUMENTS_VARIABLE == server_side.OPTIONS_VARIABLE
    told = read_options(documents_environment(DocumentsSection(), HOME, {}))
    assert told == read_options({"CORTEX_HOME": str(HOME)})
    for name in set(ours) - {"folders", "index_folder"}:
        assert ours[name].default == theirs[name].default, name


def test_the_shipped_section_says_the_defaults_key_by_key() -> None:
    section = shipped().documents
    assert section == DocumentsSection()
    assert section.model_fields_set == set(DocumentsSection.model_fields)


def test_the_server_reads_what_the_section_says() -> None:
    section = {
        "folders": ["papers", "/data/docs"],
        "index_folder": "state/index",
        "ignore": ["*.tmp"],
        "embedder": "ollama:nomic-embed-text",
        "word_weight": 0.7,
        "watch": False,
    }
    given = DocumentsSection.model_validate(section)
    told = read_options(documents_environment(given, HOME, {}))
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


def specs(profile: AgentProfile, environ: dict[str, str]) -> dict[str, ServerSpec]:
    """The servers by id."""
    found = server_list(profile, Places(ROOT, HOME), PROFILE, environ=environ)
    return {spec.id: spec for spec in found.specs}


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


def test_the_shipped_profile_has_the_server() -> None:
    found = specs(shipped(), {})
    assert found["documents"].bundled
    assert "search_stored_documents" in found["documents"].capabilities
    assert found["documents"].start == "lazy"


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("folders: []", "documents.folders"),
        ("folders: documents", "documents.folders"),
        ("chunking: magic", "allowed: structure or llm"),
        ("embedder: openai", "documents.embedder"),
        ("vectors: pinecone", "documents.vectors"),
        ("word_weight: 2", "documents.word_weight"),
        ("watch: sometimes", "documents.watch"),
        ("folder: [x]", "documents.folder"),
    ],
)
def test_mistakes_are_told_with_file_line_and_key(tmp_path: Path, section: str, told: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(f"agent: {{name: Test, id: test}}\ndocuments:\n  {section}\n")
    with pytest.raises(SettingsError) as wrong:
        load_profile(path)
    assert f"{path}:3" in str(wrong.value)
    assert told in str(wrong.value)
