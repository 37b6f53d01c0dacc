"""What composition trusts: bundled servers by their scripts, folders, and what entries name."""

from contextlib import nullcontext
from pathlib import Path

from config.schema import AgentProfile, AgentSection, DocumentsSection
from config.servers import ServerSpec
from config.settings import ROOT, Places
from core.asking import AskedCall, AskLeave, Leave, LeaveQuestion, ShownValue
from core.base.redaction import Redactor
from core.provenance.known import Known, ProvenancePolicy, matches
from core.session import MultiMCP
from core.turn import MemoryItem
from core.values import JsonObject
from modules.cli.composition import asking_leave
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.provenance_policy import provenance_policy
from modules.sandbox import Sandbox
from modules.terminal.asking.questions import Questions
from tests.core.dispatch.fixture_servers import server
from tests.doubles import profile, tool
from tests.modules.talks import nobody
from tests.modules.terminal.asking.person import Person


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
        ServerSpec("with me", ("serve", "."), Path("/home/x"), runs_in=Path("/users/project")),
        ServerSpec("by me", ("serve",), Path("/home/x"), runs_in=Path("/users/project")),
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
    assert known.is_path_known("/users/project/a", "with me")
    assert not known.is_path_known("/users/project/a", "by me"), "no entry names it"
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


def asking(person: Person, folder: Path) -> AskLeave:
    """What asks this person; the server `files` may reach the folder."""
    asked = asking_leave(
        Questions(person, lambda stage, text: None),
        nullcontext,
        lambda: ProvenancePolicy(texts={"files": (str(folder),)}),
        Redactor({"API_KEY": "s3cr3t-of-mine"}),
    )
    assert asked is not None
    return asked


async def test_a_call_is_shown_with_its_difference_and_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old s3cr3t-of-mine\n", encoding="utf-8")
    person = Person("n")
    arguments: JsonObject = {"path": "a.txt", "content": "new s3cr3t-of-mine\n"}
    values = tuple(ShownValue(name, value, "unknown") for name, value in arguments.items())
    question = LeaveQuestion(
        (AskedCall("files.write_file", values, {}),), ("why",), ("s3cr3t-of-mine",)
    )
    assert await asking(person, tmp_path)(question) == Leave("no")
    assert "│ -old [redacted API_KEY]\n│ +new [redacted API_KEY]\n" in person.shown
    assert "s3cr3t" not in person.shown


async def test_the_words_beside_a_no_stand_in_the_next_plans_prompt(tmp_path: Path) -> None:
    plans = ["await tools.pid()", "return 'FINAL_ANSWER: done'"]
    model = ScriptedModel([f"async def solve():\n    {body}" for body in plans])
    talk = Conversation(
        profile(),
        Places(ROOT, tmp_path),
        ModelManager(model),
        MultiMCP([server("able")]),
        Sandbox(),
        nobody,
        ask_leave=asking(Person("ask for the port instead"), tmp_path),
    )
    async with talk:
        outcome = await talk.ask("how many pids?")
    assert outcome.status == "no_answer", "it says that it is done, and has done nothing"
    prompt = model.requests[-1].prompt
    assert "able.pid was not called: the user did not allow this call" in prompt
    assert 'the user\'s own words: "ask for the port instead"' in prompt
