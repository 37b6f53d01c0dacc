"""Where files lie, and what a configuration file that can't be used is told."""

import json
import os
import pwd
import tempfile
from pathlib import Path
from typing import cast

import pytest
from pydantic import BaseModel

from config.checking import MAX_PROBLEMS_SHOWN
from config.models_file import ModelsFile, load_models, models_of
from config.schema import AgentProfile, load_profile
from config.servers import ServerEntry
from config.settings import MAX_CONFIG_BYTES, ROOT, Places, SettingsError, find_places
from config.texts import load_yaml

AGENT = "agent: {name: A, id: a}\n"
REQUIRED_SERVER_KEYS = {"id", "script", "description", "capabilities", "basic_tools"}


def profile_error(folder: Path, text: str | bytes) -> str:
    """The message that a profile of this text gets, its own path as `FILE`."""
    path = folder / "profiles.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as caught:
        load_profile(path)
    return str(caught.value).replace(str(path), "FILE")


def models_error(folder: Path, text: str) -> str:
    path = folder / "models.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_models(path)
    return str(caught.value).replace(str(path), "FILE")


class TestShippedFiles:
    def test_the_profile_is_valid_and_its_servers_exist(self) -> None:
        path = ROOT / "config" / "profiles.yaml"
        profile = load_profile(path)
        assert profile.mcp_servers
        for server in profile.mcp_servers:
            assert Path(server.spec(ROOT, path.parent).command[1]).is_file()

    def test_the_models_are_valid_and_offline_is_one_of_them(self) -> None:
        models = load_models(ROOT / "config" / "models.json").models
        assert models["offline"].type == "offline"
        assert models["gemini"].api_key_env == "GEMINI_API_KEY"

    def test_every_key_of_the_schema_stands_in_the_shipped_profile(self) -> None:
        text = (ROOT / "config" / "profiles.yaml").read_text(encoding="utf-8")
        assert not keys_left_out(AgentProfile, load_yaml(text))

    def test_the_shipped_values_are_the_defaults_but_for_steps_and_tool_calls(self) -> None:
        """A profile that leaves another key out behaves as the shipped one does."""
        shipped = load_profile(ROOT / "config" / "profiles.yaml")
        bare = AgentProfile(agent=shipped.agent)
        for section in ("memory", "llm", "documents", "web", "security", "team"):
            assert getattr(shipped, section) == getattr(bare, section), section
        assert shipped.strategy == bare.strategy.model_copy(update={"max_steps": 10})
        assert shipped.sandbox == bare.sandbox.model_copy(update={"tool_calls": 20})


def keys_left_out(schema: type[BaseModel], found: object, path: str = "") -> list[str]:
    """Keys of the schema that the document lacks; of servers, only what each of ours has."""
    assert isinstance(found, dict), path
    section = cast("dict[str, object]", found)
    missing: list[str] = []
    for name, field in schema.model_fields.items():
        if name not in section:
            is_optional = schema is ServerEntry and name not in REQUIRED_SERVER_KEYS
            missing += [] if is_optional else [f"{path}{name}"]
        elif isinstance(kind := field.annotation, type) and issubclass(kind, BaseModel):
            missing += keys_left_out(kind, section[name], f"{path}{name}.")
        elif name == "mcp_servers":
            for number, entry in enumerate(cast("list[object]", section[name])):
                missing += keys_left_out(ServerEntry, entry, f"{path}{name}.{number}.")
    return missing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent:\n  name: [a\n  id: b\n", "FILE:3: not valid YAML: did not find expected"),
        ("agent:\n\tname: a\n", "FILE:2: not valid YAML: found character that cannot start"),
        ("a: 1\n---\nb: 2\n", "FILE:2: not valid YAML"),
        ("a: *nothing\n", "FILE:1: not valid YAML: found undefined alias"),
        ("x: 1\nagent: a\x07b\n", "FILE:2: not valid YAML: character #x0007 may not stand"),
        ("a: {b: =}\nwhen: 2026-13-45\n", "FILE:2: not valid YAML: month must be in 1..12"),
        (f"x: 'q'\nn: {'9' * 5000}\n", "FILE:2: not valid YAML: Exceeds the limit"),
        ("? [a]\n: b\n", "FILE:1: not valid YAML: found unhashable key"),
        ("a: !!python/object/apply:os.system [ls]\n", "FILE:1: not valid YAML: could not"),
        ("a: 1\nb: {c: 1, c: 2}\n", "FILE:2: not valid YAML: key 'c' stands twice"),
        ("a: 1\nb: 2\na: 3\n", "FILE:3: not valid YAML: key 'a' stands twice"),
        ("", "FILE: expected a mapping"),
        ("- agent\n", "FILE: expected a mapping"),
        ("just text", "FILE: expected a mapping"),
        (b"agent: \xff\xfe", "FILE: not UTF-8 text (byte 7)"),
        (b"#" * (MAX_CONFIG_BYTES + 1), f"FILE: larger than {MAX_CONFIG_BYTES} bytes"),
    ],
)
def test_a_file_that_is_no_profile_at_all_is_told_so_with_its_line(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    assert profile_error(tmp_path, text).startswith(message)


@pytest.mark.parametrize(
    ("key", "now"),
    [
        (
            "llm:\n  embedding: nomic\n",
            "'llm.embedding' is a key of earlier versions; now: documents",
        ),
    ],
)
def test_a_key_that_was_once_there_is_told_with_what_takes_its_place(
    tmp_path: Path, key: str, now: str
) -> None:
    assert profile_error(tmp_path, AGENT + key).startswith(f"FILE:3: {now}")


def test_keys_of_an_old_models_file_are_told_with_what_takes_their_place(tmp_path: Path) -> None:
    text = """{
      "defaults": {"text_generation": "gemini", "embedding": "nomic"},
      "models": {
        "phi4": {
          "type": "ollama",
          "embedding_model": "phi4",
          "url": {"generate": "http://localhost:11434/api/generate"}
        }
      }
    }"""
    told = models_error(tmp_path, text).splitlines()
    assert [line.partition(" is a key of earlier versions; now: ")[::2] for line in told] == [
        (
            "FILE:6: 'models.phi4.embedding_model'",
            "documents.embedder in the profile, such as ollama:nomic-embed-text",
        ),
        (
            "FILE:7: 'models.phi4.url'",
            "base_url, the address before the paths: http://127.0.0.1:11434 for Ollama",
        ),
        ("FILE:2: 'defaults'", "llm.text_generation and documents.embedder in the profile"),
    ]


class TestModelsOfOnesOwn:
    def own(self, home: Path, **document: object) -> ModelsFile:
        (home / "config").mkdir(exist_ok=True)
        (home / "config" / "models.json").write_text(json.dumps(document), encoding="utf-8")
        return models_of(Places(ROOT, home))

    def test_they_add_to_those_that_ship_and_go_first(self, tmp_path: Path) -> None:
        shipped = load_models(ROOT / "config" / "models.json")
        mine = {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
        models = self.own(tmp_path, models={"mine": mine, "gpt": {"type": "openai", "model": "g"}})
        assert [*models.models][:2] == ["mine", "gpt"]
        assert {*models.models} == {"mine", *shipped.models}
        assert models.models["gpt"].model == "g"
        assert models.models["gemini"] == shipped.models["gemini"]
        assert (models.patterns, models.prices) == (shipped.patterns, shipped.prices)
        assert models_of(Places(ROOT, tmp_path / "none")) == shipped

    def test_their_patterns_and_prices_go_first_and_an_empty_table_means_none(
        self, tmp_path: Path
    ) -> None:
        models = self.own(
            tmp_path,
            models={},
            patterns={"gpt-*": "ollama", "x-*": "openai"},
            prices={"x-1": {"input": 1, "output": 2}},
        )
        assert [*models.patterns][:2] == ["gpt-*", "x-*"]
        assert models.patterns["gpt-*"] == "ollama"
        assert models.patterns["phi*"] == "ollama"
        assert next(iter(models.prices)) == "x-1"
        assert not self.own(tmp_path, models={}, prices={}).prices


@pytest.mark.parametrize("nest", ["[", "- ", "{a: ", "? "])
def test_a_file_nested_without_end_is_refused_and_does_not_end_the_process(
    tmp_path: Path, nest: str
) -> None:
    """The YAML library recurses in C: 100,000 brackets were a segmentation fault before 6.0.4."""
    told = profile_error(tmp_path, nest * 100_000)
    assert "nested deeper than 50 levels" in told or "maximum nesting depth" in told


def test_aliases_that_multiply_or_hold_themselves_cost_nothing(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    bomb = "\n".join(levels) + "\npersona: {behavior_tags: *a29}\nagent: &me {name: *me, id: a}\n"
    message = profile_error(tmp_path, bomb)
    assert "persona.behavior_tags.0" in message
    assert len(message) < 10_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x: 1\n",
            "FILE:2: unknown key 'x'; allowed here: agent, strategy, memory, llm, models, budgets, "
            "persona, sandbox, documents, web, guidance, terminal, security, trace, team, service, "
            "mcp_servers",
        ),
        (
            "memory:\n  storage:\n    strukture: date\n",
            "FILE:4: unknown key 'memory.storage.strukture'; allowed here: base_dir, structure",
        ),
        ("1: 2\n", "FILE:2: unknown key '1'; allowed here: agent, "),
        ("strategy: {1: 2}\n", "FILE:2: 'strategy.1' is 1: Keys should be strings"),
        (
            "strategy:\n  planning_mode: bold\n",
            "FILE:3: 'strategy.planning_mode' is 'bold'; allowed: conservative or exploratory",
        ),
        (
            "memory: {storage: {structure: [date]}}\n",
            "FILE:2: 'memory.storage.structure' is ['date']; allowed: date or flat",
        ),
        (
            "persona:\n  verbosity: 3\n",
            "FILE:3: 'persona.verbosity' is 3; allowed: low, medium or high",
        ),
        ("strategy: {max_steps: many}\n", "FILE:2: 'strategy.max_steps' is 'many'; it should be a"),
        ("strategy: {max_steps: '3'}\n", "FILE:2: 'strategy.max_steps' is '3'; it should be a"),
        ("strategy: {max_steps: yes}\n", "FILE:2: 'strategy.max_steps' is True; it should be a"),
        ("strategy: {max_steps: 0}\n", "FILE:2: 'strategy.max_steps' is 0; it should be greater"),
        ("strategy: {max_steps: 51}\n", "FILE:2: 'strategy.max_steps' is 51; it should be less"),
        ("strategy: {tool_prompt_tokens: 99}\n", "FILE:2: 'strategy.tool_prompt_tokens' is 99; "),
        ("strategy: {max_steps: 1.5}\n", "FILE:2: 'strategy.max_steps' is 1.5; "),
        ("memory: {memory_service: 1}\n", "FILE:2: 'memory.memory_service' is 1; it should"),
        ("memory: {memory_service: 'off'}\n", "FILE:2: 'memory.memory_service' is 'off'; "),
        ("sandbox: {cpu_seconds: .inf}\n", "FILE:2: 'sandbox.cpu_seconds' is inf; "),
        ("sandbox: {cpu_seconds: .nan}\n", "FILE:2: 'sandbox.cpu_seconds' is nan; "),
        ("sandbox: {cpu_seconds: 1.0e+9}\n", "FILE:2: 'sandbox.cpu_seconds' is 1000000000.0; "),
        ("sandbox: {cpu_seconds: true}\n", "FILE:2: 'sandbox.cpu_seconds' is True; "),
        ("sandbox: {cpu_seconds: 0}\n", "FILE:2: 'sandbox.cpu_seconds' is 0; "),
        (f"sandbox: {{tool_calls: 0x{'f' * 9000}}}\n", "FILE:2: 'sandbox.tool_calls' is a number"),
        (
            "memory:\n",
            "FILE:2: 'memory' is empty; expected a section with keys: memory_service, ",
        ),
        ("llm: gemini\n", "FILE:2: 'llm' is 'gemini'; expected a section with keys: text_gen"),
        (
            "budgets:\n  run: {tokens: 5}\n",
            "FILE:3: 'budgets.run': what a run may have of tokens is 'llm.max_tokens', not here",
        ),
        ("budgets: {day: {token: 5}}\n", "FILE:2: unknown key 'budgets.day.token'; allowed here: "),
        ("budgets: {day: {calls: 0}}\n", "FILE:2: 'budgets.day.calls' is 0; it should be greater"),
        ("budgets: {user: {cost: yes}}\n", "FILE:2: 'budgets.user.cost' is True; "),
        ("team: {pattern: vote}\n", "FILE:2: 'team.pattern' is 'vote'; allowed: coordinator, "),
        ("team: {max_parallel: 0}\n", "FILE:2: 'team.max_parallel' is 0; it should be greater"),
        (
            "team: {roles: {reasercher: {tools: []}}}\n",
            "FILE:2: 'team': role 'reasercher' is no preset, and so needs a 'purpose' that says "
            "what it is for; did you mean researcher?",
        ),
        ("team: {roles: {Ann: {purpose: x}}}\n", "FILE:2: 'team.roles.Ann' is 'Ann'; it should"),
        (
            "team:\n  roles:\n    writer: {tool: [add]}\n",
            "FILE:4: unknown key 'team.roles.writer.tool'; allowed here: purpose, servers, tools, ",
        ),
        ("mcp_servers: 5\n", "FILE:2: 'mcp_servers' is 5; expected a list"),
        ("mcp_servers: [math]\n", "FILE:2: 'mcp_servers.0' is 'math'; expected a section with"),
        ("persona: {behavior_tags: kind}\n", "FILE:2: 'persona.behavior_tags' is 'kind'; expe"),
        ("persona: {tone: no}\n", "FILE:2: 'persona.tone' is False; expected text, in quotes"),
    ],
)
def test_a_mistake_names_file_line_key_and_what_is_allowed(
    tmp_path: Path, text: str, message: str
) -> None:
    found = profile_error(tmp_path, AGENT + text)
    assert found.startswith(message)
    assert "\n" not in found


def test_keys_that_must_be_there_are_named_when_they_are_not(tmp_path: Path) -> None:
    assert profile_error(tmp_path, "llm: {}\n") == "FILE: key 'agent' is missing"
    assert profile_error(tmp_path, "llm: {}\nagent:\n  name: A\n") == (
        "FILE:2: key 'agent.id' is missing"
    )


def test_every_mistake_gets_a_line_in_the_order_of_the_sections(tmp_path: Path) -> None:
    text = "agent: {name: A}\nllm: {x: 1}\nstrategy:\n  max_steps: 0\n"
    assert [line.partition(": ")[0] for line in profile_error(tmp_path, text).split("\n")] == [
        "FILE:1",
        "FILE:4",
        "FILE:2",
    ]


def test_a_file_full_of_mistakes_is_explained_at_once_and_not_at_length(tmp_path: Path) -> None:
    """Each line was once looked up by parsing the file again: two minutes for this one."""
    tags = ",".join("1" for _ in range(2000))
    lines = profile_error(tmp_path, f"{AGENT}persona:\n  behavior_tags: [{tags}]\n").split("\n")
    assert len(lines) == MAX_PROBLEMS_SHOWN + 1
    assert lines[-1] == f"FILE: … and {2000 - MAX_PROBLEMS_SHOWN} more problems"


def test_long_values_and_control_characters_are_not_thrown_at_the_terminal(tmp_path: Path) -> None:
    message = profile_error(tmp_path, f'{AGENT}llm: {{text_generation: ["{"x" * 5000}"]}}\n')
    assert len(message) < 200
    message = profile_error(tmp_path, AGENT + '"\\e[2J": 1\nllm: {text_generation: ["\\e[2J"]}\n')
    assert "\x1b" not in message


def test_a_byte_order_mark_and_merge_keys_and_comments_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    text = "\ufeffagent: &who {name: A, id: a}  # me\nstrategy: {<<: {max_steps: 7}}\n"
    path.write_text(text, encoding="utf-8")
    assert load_profile(path).strategy.max_steps == 7


def test_whole_numbers_are_seconds_too(tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    path.write_text(AGENT + "sandbox: {cpu_seconds: 7}\n", encoding="utf-8")
    assert load_profile(path).sandbox.cpu_seconds == 7.0


@pytest.mark.parametrize("load", [load_profile, load_models])
def test_a_missing_file_and_a_directory_say_that_they_cannot_be_read(
    tmp_path: Path, load: object
) -> None:
    assert callable(load)
    missing = tmp_path / "none.yaml"
    with pytest.raises(SettingsError, match="can't be read: No such file") as caught:
        load(missing)
    assert str(missing) in str(caught.value)
    with pytest.raises(SettingsError, match="can't be read: Is a directory"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE:1: not valid JSON: Expecting value"),
        ('{\n"models": {,}}', "FILE:2: not valid JSON: Expecting property name"),
        ('{"models": {}} x', "FILE:1: not valid JSON: Extra data"),
        ("[]", "FILE: the file is []; expected a section with keys: models"),
        ("{}", "FILE: key 'models' is missing"),
        ('{"models": {},\n"m": 1}', "FILE:2: unknown key 'm'; allowed here: models"),
        ('{"models": {"g": {"type": "gpt"}}}', "FILE:1: 'models.g.type' is 'gpt'; allowed: gem"),
        ('{"models":\n{"g": {}}}', "FILE:2: key 'models.g.type' is missing"),
        ('{"models": {"g": {"type": "offline", "type": "gemini"}}}', "FILE: not valid JSON: key"),
        (
            '{"models": {"model": {"type": "offline",\n\t"x": 1}}}',
            "FILE:2: unknown key 'models.model.x'; allowed here: type, model, api_key_env",
        ),
        ('{"models": {"g": 1}}', "FILE:1: 'models.g' is 1; expected a section with keys: type"),
        ("[" * 100_000, "FILE: not valid JSON: "),
        (f"[{'9' * 5000}]", "FILE: not valid JSON: Exceeds the limit"),
    ],
)
def test_a_models_file_with_a_mistake_names_line_and_key_too(
    tmp_path: Path, text: str, message: str
) -> None:
    assert models_error(tmp_path, text).startswith(message)


class TestPlaces:
    def test_cortex_home_moves_all_state_and_nothing_else(self, tmp_path: Path) -> None:
        places = find_places({"CORTEX_HOME": str(tmp_path)})
        assert places == Places(ROOT, tmp_path)
        for place in (places.cache, places.server_logs, places.log_file, places.history_file):
            assert place.is_relative_to(tmp_path)

    def test_a_relative_cortex_home_is_made_absolute(self) -> None:
        assert find_places({"CORTEX_HOME": "state"}).home == Path.cwd() / "state"

    def test_a_tilde_is_the_home_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        assert find_places({"CORTEX_HOME": "~/x"}).home == tmp_path / "x"

    def test_the_home_of_a_user_who_is_not_there_is_a_clear_mistake(self) -> None:
        with pytest.raises(SettingsError, match="CORTEX_HOME=~nobody-here/x: there is no such"):
            find_places({"CORTEX_HOME": "~nobody-here/x"})

    def test_an_empty_cortex_home_counts_as_none(self) -> None:
        assert find_places({"CORTEX_HOME": ""}).home == ROOT

    def test_a_checkout_keeps_its_state_itself(self) -> None:
        assert find_places({}) == Places(ROOT, ROOT)

    def test_an_installed_copy_keeps_state_in_the_users_data_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        places = find_places({}, root=tmp_path / "site-packages")
        assert places.root == tmp_path / "site-packages"
        assert places.home.is_relative_to(tmp_path)
        assert places.home.name == "cortex-r"

    def test_with_no_home_at_all_state_goes_to_a_temporary_folder_of_this_user(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_entry(uid: int) -> None:
            raise KeyError(uid)

        monkeypatch.delenv("HOME", raising=False)
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.setattr(pwd, "getpwuid", no_entry)  # a container's user number
        home = find_places({}, root=tmp_path).home
        assert home.parent == Path(tempfile.gettempdir())
        assert home.name == f"cortex-r-{os.getuid()}"

    def test_a_file_in_the_users_home_goes_before_the_one_that_ships(self, tmp_path: Path) -> None:
        places = Places(ROOT, tmp_path)
        shipped = ROOT / "config" / "models.json"
        assert places.config_file("models.json") == shipped
        (tmp_path / "config" / "models.json").mkdir(parents=True)
        assert places.config_file("models.json") == shipped, "a directory is no file"
        (tmp_path / "config" / "profiles.yaml").write_text("", encoding="utf-8")
        assert places.config_file("profiles.yaml") == tmp_path / "config" / "profiles.yaml"

    def test_a_home_that_cannot_even_be_looked_into_leaves_what_ships(self) -> None:
        places = Places(ROOT, Path("/" + "x" * 5000))
        assert places.config_file("models.json") == ROOT / "config" / "models.json"


SMALLEST = "agent:\n  name: A\n  id: {id}\n"


def profile_of(folder: Path, text: str) -> AgentProfile:
    path = folder / "profiles.yaml"
    path.write_text(text, encoding="utf-8")
    return load_profile(path)


def test_each_agent_id_keeps_its_memory_in_a_folder_of_its_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ids = ["cortex_r_002", "cortex_r_003", "..", "../x", "a/b", "a%2Fb", "é", "x" * 150, "x" * 151]
    folders = [
        profile_of(tmp_path, SMALLEST.format(id=f"'{one}'")).memory_folder(home) for one in ids
    ]
    assert folders[0] == home / "memory"
    assert len(set(folders)) == len(ids)
    for folder in folders[1:]:
        assert folder.parent == home / "memory" / "profiles"
        assert folder.resolve() == folder
        folder.mkdir(parents=True)


def test_without_memory_everything_else_stays(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, SMALLEST.format(id="a"))
    bare = profile.without_memory()
    assert not bare.memory.memory_service
    assert bare.model_copy(update={"memory": profile.memory}) == profile


@pytest.mark.parametrize(
    ("mask", "said"), [("'['", "no regular expression"), ("'x*'", "matches the empty text too")]
)
def test_a_mask_that_cannot_be_used_is_explained(tmp_path: Path, mask: str, said: str) -> None:
    text = f"{SMALLEST.format(id='a')}memory:\n  mask: [{mask}]\n"
    assert said in profile_error(tmp_path, text)
