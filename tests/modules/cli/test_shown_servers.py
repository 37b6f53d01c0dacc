"""How servers are shown: never with what may be a secret."""

from pathlib import Path

import pytest

from config.servers import ServerSpec
from modules.cli.mcp_list import kind_of, shown_origin, shown_start

HERE = Path()


def shown(*words: str) -> str:
    return shown_start(ServerSpec("x", words, HERE))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("npx", "-y", "server"), "npx -y server"),
        (("run", "a b"), "run 'a b'"),
        (("run", "--api-key", "s3cret", "x"), "run --api-key … x"),
        (("run", "--token", "--verbose"), "run --token --verbose"),
        (("run", "--api-key=s3cret"), "run '--api-key=…'"),
        (("run", "-e", "GITHUB_TOKEN=s3cret"), "run -e 'GITHUB_TOKEN=…'"),
        (
            ("run", "--header", "Authorization: Bearer s3cret"),
            "run --header 'Authorization: Bearer …'",
        ),
        (("run", "--header", "Authorization:s3cret"), "run --header 'Authorization:…'"),
        (("run", "--keyboard", "us"), "run --keyboard us"),
        (("monkey", "PATH=/bin"), "monkey PATH=/bin"),
    ],
)
def test_a_command_without_secrets(words: tuple[str, ...], line: str) -> None:
    assert shown(*words) == line


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://me:s3cret@example.com:8080/mcp", "https://example.com:8080/mcp"),
        ("https://example.com/mcp?key=s3cret#s3cret", "https://example.com/mcp?…"),
        ("http://[::1]/mcp", "http://[::1]/mcp"),
        ("http://[s3cret", "…"),
    ],
)
def test_a_url_without_secrets(url: str, line: str) -> None:
    assert shown_start(ServerSpec("x", (), HERE, url=url)) == line


def test_kinds() -> None:
    assert kind_of(ServerSpec("x", ("cat",), HERE)) == "stdio"
    assert kind_of(ServerSpec("x", (), HERE, url="https://a")) == "http"
    assert kind_of(ServerSpec("x", ("cat",), HERE, connection="per_call")) == "per call"


def test_origins_are_shown_as_files() -> None:
    profile = ServerSpec("x", ("cat",), HERE, origin="under mcp_servers in /a/in p.yaml")
    assert shown_origin(profile) == "/a/in p.yaml"
    assert shown_origin(ServerSpec("x", ("cat",), HERE, origin="in /a/mcp.json")) == "/a/mcp.json"
