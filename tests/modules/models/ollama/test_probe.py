"""Looking for Ollama at start-up: where it is, what it has, and whoever else may listen there."""

import asyncio
import json
import socket
import threading
import time

import pytest

from core.values import Json
from modules.models.choosing.discovery import find_ollama, get_json, look_for_ollama
from modules.models.ollama.facts import (
    InstalledModel,
    billions_of_parameters,
    installed_models,
)
from tests.modules.models.ollama.server import listed, ollama_server
from tests.modules.models.service import Exchange


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("qwen3:32b", 32.0),
        ("qwen3:30b-a3b", 30.0),
        ("qwen2.5-coder:1.5b-instruct-q4_0", 1.5),
        ("mixtral:8x7b", 56.0),
        ("smollm:135m", 0.135),
        ("gemma3n:e4b", 4.0),
        ("hf.co/someone/Llama-3.2-3B-Instruct-GGUF:Q4_K_M", 3.0),
        ("7.6B", 7.6),
        ("llama3.2", 0.0),
        ("phi4:latest", 0.0),
        ("x:q4b", 0.0),
    ],
)
def test_the_size_is_in_the_name(name: str, billions: float) -> None:
    assert billions_of_parameters(name) == pytest.approx(billions)


def test_what_is_listed_is_described() -> None:
    cloud = listed("big:cloud", remote_host="https://ollama.com:443", size=384)
    (model, remote) = installed_models({"models": [listed("a:1b"), cloud]})
    assert model == InstalledModel("a:1b", 4683075271, "7.6B", "Q4_K_M")
    assert (remote.is_remote, remote.size_bytes) == (True, 384)


ODD_NAMES: list[Json] = [None, 7, [], {}, {"name": 1}, {"name": ""}, {"name": "a b"}]
ODD_LISTS: list[Json] = [
    None,
    [],
    {"models": None},
    {"models": "x"},
    {"models": ODD_NAMES},
    {"models": [{"name": "x" * 999}, {"name": "\x1b[2J"}]},
]


@pytest.mark.parametrize("document", ODD_LISTS)
def test_a_list_of_another_form_is_empty(document: Json) -> None:
    assert installed_models(document) == ()


def test_odd_details_say_nothing() -> None:
    odd = {"name": "a", "size": -1, "details": [1], "capabilities": "all"}
    assert installed_models({"models": [odd, odd]}) == (InstalledModel("a"),)


async def test_models_that_chat_are_found_and_those_in_memory_come_first() -> None:
    async with ollama_server("new:1b", "nomic-embed-text:latest", "used:2b") as fake:
        fake.models += [
            listed("cloudy", remote_host="https://ollama.com:443"),
            listed("blind", capabilities=["embedding"]),
            listed("berta", details={"family": "bert"}),
            listed("nomic-embed-chat:1b", capabilities=["completion", "tools"]),
        ]
        fake.running = [{"name": "used:2b"}]
        found = await asyncio.to_thread(find_ollama, fake.environ, 5)
        assert found == ["used:2b", "new:1b", "nomic-embed-chat:1b"]
        server = await asyncio.to_thread(look_for_ollama, fake.environ, 5)
        assert server is not None
        assert server.address == f"http://{fake.place}"
        assert [model.name for model in server.models if not model.chats] == [
            "nomic-embed-text:latest",
            "blind",
            "berta",
        ]


async def test_what_is_in_memory_is_only_asked_where_it_matters() -> None:
    async with ollama_server("only:1b") as fake:
        assert await asyncio.to_thread(find_ollama, fake.environ, 5) == ["only:1b"]
        assert [asked.path for asked in fake.seen] == ["/api/tags"]
        fake.models = []
        found = await asyncio.to_thread(look_for_ollama, fake.environ, 5)
        assert found is not None
        assert found.models == ()


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b"[1]", b"[" * 100_000, b"\xff", json.dumps({"data": []}).encode()]
)
async def test_another_service_at_that_port_is_no_ollama(body: bytes) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(body)

    async with ollama_server() as fake:
        fake.on["/api/tags"] = answer
        assert await asyncio.to_thread(look_for_ollama, fake.environ, 5) is None


async def test_a_listener_that_says_nothing_costs_the_time_that_is_allowed() -> None:
    async def silent(exchange: Exchange) -> None:
        await exchange.gone.wait()

    async with ollama_server() as fake:
        fake.on["/api/tags"] = silent
        began = time.monotonic()
        assert await asyncio.to_thread(find_ollama, fake.environ, 0.05) == []
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("host", ["1.2.3.4.5", "99999999999", "somewhere.invalid"])
def test_a_name_that_nobody_resolves_costs_the_time_that_is_allowed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def resolver(*_: object, flags: int = 0, **__: object) -> list[object]:
        if not flags & socket.AI_NUMERICHOST:
            answered.wait(5)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    # Names are looked up by the C library: no listener of ours could be slow in its place.
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    began = time.monotonic()
    assert get_json(f"http://{host}:1/", began + 0.02) is None
    assert time.monotonic() - began < 2
    answered.set()


@pytest.mark.parametrize(
    "place", ["127.0.0.1:1", "http://me:pw@127.0.0.1:1", "bö x", "[::1", "a/b?c"]
)
def test_where_nothing_can_be_there_is_nothing(place: str) -> None:
    assert find_ollama({"OLLAMA_HOST": place}) == []
