"""Mistakes under `mcp_servers` of a profile: each names file, line, key and what is allowed."""

from pathlib import Path

import pytest

from config.schema import load_profile
from config.settings import SettingsError

AGENT = "agent: {name: A, id: a}\n"
HIDDEN = "s3cr3t-value"


def profile_error(folder: Path, text: str) -> str:
    """The message that a profile with these servers gets, its own path as `FILE`."""
    path = folder / "profiles.yaml"
    path.write_text(AGENT + text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_profile(path)
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mcp_servers:\n  - id: a\n    script: x\n    uri: y\n",
            "FILE:5: unknown key 'mcp_servers.0.uri'; allowed here: id, script, command, args, "
            "cwd, env, url, headers, description, capabilities, basic_tools, connection, start, "
            "disabled, start_timeout_seconds, call_timeout_seconds, tool_timeout_seconds, "
            "concurrent_calls, result_bytes",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, env: {PORT: 8080}}\n",
            "FILE:3: 'mcp_servers.0.env.PORT' is a number; expected text, in quotes if need be",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, env: {1: a}}\n",
            "FILE:3: 'mcp_servers.0.env.1' is 1; expected text",
        ),
        ("mcp_servers:\n  - script: x\n", "FILE:3: key 'mcp_servers.0.id' is missing"),
        ("mcp_servers:\n  - id: a\n", "FILE:3: 'mcp_servers.0': a server needs 'script' (a Pyt"),
        ("mcp_servers:\n  - {id: a b, script: x}\n", "FILE:3: 'mcp_servers.0.id' is 'a b': "),
        ("mcp_servers:\n  - {id: a.b, script: x}\n", "FILE:3: 'mcp_servers.0.id' is 'a.b': "),
        ("mcp_servers:\n  - {id: a, script: ''}\n", "FILE:3: 'mcp_servers.0.script' is ''"),
        ("mcp_servers:\n  - {id: a, command: ''}\n", "FILE:3: 'mcp_servers.0.command' is ''"),
        (
            "mcp_servers:\n  - {id: a, script: x}\n  - {id: a, script: y}\n",
            "FILE:2: 'mcp_servers': id used twice: a",
        ),
        (
            "mcp_servers:\n  - {id: a-b, script: x}\n  - {id: a_b, script: y}\n",
            "FILE:2: 'mcp_servers': 'a-b' and 'a_b' look the same in a plan",
        ),
        (
            "mcp_servers:\n  - {id: import, script: x}\n  - {id: import_, script: y}\n",
            "FILE:2: 'mcp_servers': 'import' and 'import_' look the same in a plan",
        ),
        (
            "mcp_servers:\n  - {id: a,\n     start: sometimes, script: x}\n",
            "FILE:4: 'mcp_servers.0.start' is 'sometimes'; allowed: lazy or eager",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, connection: often}\n",
            "FILE:3: 'mcp_servers.0.connection' is 'often'; allowed: persistent or per_call",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, disabled: 'no'}\n",
            "FILE:3: 'mcp_servers.0.disabled' is 'no'; it should be a valid boolean",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, concurrent_calls: 0}\n",
            "FILE:3: 'mcp_servers.0.concurrent_calls' is 0; it should be greater than or equal to",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, concurrent_calls: 1001}\n",
            "FILE:3: 'mcp_servers.0.concurrent_calls' is 1001; it should be less than or equal to",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, result_bytes: 10}\n",
            "FILE:3: 'mcp_servers.0.result_bytes' is 10; it should be greater than or equal to",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, result_bytes: 1.0e+12}\n",
            "FILE:3: 'mcp_servers.0.result_bytes' is 1000000000000.0; it should be",
        ),
        (
            "mcp_servers:\n  - id: a\n    script: x\n    tool_timeout_seconds: {add: 0}\n",
            "FILE:5: 'mcp_servers.0.tool_timeout_seconds.add' is 0; it should be greater than 0",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, tool_timeout_seconds: 5}\n",
            "FILE:3: 'mcp_servers.0.tool_timeout_seconds' is 5; expected a section",
        ),
        (
            "mcp_servers:\n  - id: a\n    url: ftp://example.com\n",
            "FILE:4: 'mcp_servers.0.url' is text: no usable address; allowed: an address such as "
            "https://example.com/mcp: http or https, with a host",
        ),
        (
            f"mcp_servers:\n  - {{id: a, url: 'https://me:{HIDDEN}@example.com'}}\n",
            "FILE:3: 'mcp_servers.0.url' is text: a user name or password, which messages would",
        ),
        (
            f"mcp_servers:\n  - {{id: a, url: 'https://e.com', headers: [{HIDDEN}]}}\n",
            "FILE:3: 'mcp_servers.0.headers' is a list; expected a section",
        ),
        (
            f"mcp_servers:\n  - {{id: a, script: x, args: {HIDDEN}}}\n",
            "FILE:3: 'mcp_servers.0.args' is text; expected a list",
        ),
        (
            f"mcp_servers:\n  a: {{url: 'https://e.com?key={HIDDEN}'}}\n",
            "FILE:2: 'mcp_servers' is a section; expected a list",
        ),
        (
            "mcp_servers:\n  - {id: a, url: 'https://example.com', script: x}\n",
            "FILE:3: 'mcp_servers.0': a server is a program or a 'url', not both",
        ),
        (
            "mcp_servers:\n  - {id: a, url: 'https://example.com', env: {A: b}}\n",
            "FILE:3: 'mcp_servers.0': 'args' and 'env' go with a program; a 'url' gets 'headers'",
        ),
        (
            "mcp_servers:\n  - {id: a, script: x, headers: {A: b}}\n",
            "FILE:3: 'mcp_servers.0': 'headers' go with a 'url'; a program gets 'env'",
        ),
        (
            "strategy:\n  tool_prompt_tokens: 99\n",
            "FILE:3: 'strategy.tool_prompt_tokens' is 99; it should be greater than or equal to 1",
        ),
    ],
)
def test_a_mistake_names_file_line_key_and_what_is_allowed_and_no_secret(
    tmp_path: Path, text: str, message: str
) -> None:
    found = profile_error(tmp_path, text)
    assert found.startswith(message)
    assert "\n" not in found
    assert HIDDEN not in found


def test_an_address_with_a_variable_in_it_is_no_mistake_of_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    path.write_text(f"{AGENT}mcp_servers: [{{id: a, url: '${{NOWHERE}}/mcp'}}]\n", encoding="utf-8")
    server = load_profile(path).mcp_servers[0]
    spec = server.spec(tmp_path, tmp_path, environ={}, origin="in the profile")
    assert spec.problem is not None
    assert "NOWHERE" in spec.problem
