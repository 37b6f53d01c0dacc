"""What composition trusts: bundled servers by their scripts, folders, and what entries name."""

from pathlib import Path

from config.schema import AgentProfile, AgentSection, DocumentsSection
from config.servers import ServerSpec
from config.settings import ROOT, Places
from core.provenance.known import Known, ProvenancePolicy, matches
from core.turn import MemoryItem
from core.values import JsonObject
from modules.composition import provenance_policy
from tests.doubles import tool


def bundled(server: str, script: str) -> ServerSpec:
    return ServerSpec(server, ("python", str(ROOT / "servers" / script)), ROOT, bundled=True)


def policy() -> ProvenancePolicy:
    profile = AgentProfile(
        agent=AgentSection(name="Test", id="t"), documents=DocumentsSection(folders=("d", "/e"))
    )
    specs = [
        bundled("sums", "math_server.py"),
        bundled("papers", "documents_server.py"),
        ServerSpec("math", ("npx", "server", "--root=/data"), Path("/work/here")),
        ServerSpec("all", ("serve", "/"), ROOT),
        ServerSpec("near", ("serve", "./notes"), Path("/work")),
        ServerSpec("wiki", (), ROOT, url="https://wiki.example/mcp"),
    ]
    return provenance_policy(profile, specs, Places(ROOT, Path("/home/x")))


def test_a_server_is_trusted_for_its_script_and_not_for_its_name() -> None:
    assert policy().trusted_servers == {"sums"}
    assert policy().bundled_servers == {"sums", "papers"}
    assert policy().relative_to == {"papers": ("/home/x/d", "/e")}
    assert policy().marking_tools == ("papers.search_stored_documents",)


def test_folders_are_everybodys_and_an_entrys_arguments_its_own() -> None:
    known = Known(policy())
    assert known.is_path_known("/home/x/d/a.pdf", "wiki")
    assert known.is_path_known("/data/a", "math")
    assert known.is_path_known("/work/here/a", "math")
    assert known.is_path_known("/data/a", "all")
    assert known.is_path_known("/work/notes/a", "near")
    assert not known.is_path_known("/data/a", "papers")
    assert not known.is_path_known(str(ROOT / "memory"), "papers")
    assert known.is_path_known("a/b.md", "papers")
    assert not known.is_path_known("../b.md", "papers")


def test_the_profile_names_searches_and_lists() -> None:
    search = tool("duckduckgo_search_results", "websearch")
    assert matches(search, policy().link_sources)
    assert not matches(tool("duckduckgo_search_results", "other"), policy().link_sources)
    assert matches(tool("list_directory", "any"), policy().listing_tools)
    assert policy().mode == "auto"


def test_a_session_of_an_earlier_process_that_read_something_is_remembered() -> None:
    def remembered(server: str, **more: bool) -> bool:
        known = Known(policy())
        metadata: JsonObject = {"server": server, **more}
        known.recall(
            [
                MemoryItem(
                    timestamp=1, type="tool_output", text="x", tool_name="t", metadata=metadata
                )
            ],
        )
        return known.is_tainted

    assert remembered("wiki")
    assert not remembered("sums")
    assert not remembered("wiki", refused=True)
