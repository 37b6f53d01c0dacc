"""What answers on this machine: a llama.cpp server told from others, and hostile listeners."""

import contextlib
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from core.values import Json
from modules.models.choosing.discovery import (
    LlamaServer,
    find_llama_server,
    find_running,
    get_json,
    installed_weights,
    llama_server_url,
)
from tests.modules.models.choosing.listeners import json_server, listener, listing, request_path
from tests.modules.models.choosing.worlds import NOBODY


def found(document: Json) -> LlamaServer | None:
    """What is found where `/v1/models` is this document."""
    with json_server({"/v1/models": document}) as place:
        return find_llama_server({"LLAMA_SERVER_URL": f"http://{place}"})


class TestALlamaServer:
    def test_it_is_known_by_its_list_of_models(self) -> None:
        server = found(listing("first", "second"))
        assert server is not None
        assert server.model == "first"
        assert server.base_url.startswith("http://127.0.0.1:")
        assert server.base_url.endswith("/v1")
        assert server.context_tokens is None

    def test_the_loaded_one_of_several_is_taken_with_its_context(self) -> None:
        models: list[Json] = [
            {"id": "asleep", "object": "model", "status": {"value": "unloaded"}},
            {
                "id": "awake",
                "object": "model",
                "status": {"value": "loaded"},
                "meta": {"n_ctx": 4096},
            },
        ]
        server = found({"object": "list", "data": models})
        assert server is not None
        assert (server.model, server.context_tokens) == ("awake", 4096)

    @pytest.mark.parametrize(
        "document",
        [
            None,
            [],
            {},
            {"data": None},
            {"data": []},
            {"data": [5, None, {"id": 5, "object": "model"}, {"id": "x"}]},
            listing("x" * 201, "", "evil\x1b[2J", "two\nlines"),
            {"models": [{"name": "of another service"}]},
        ],
    )
    def test_anything_else_is_none(self, document: Json) -> None:
        assert found(document) is None

    def test_odd_values_beside_a_name_do_no_harm(self) -> None:
        odd_values: list[Json] = [True, -1, 10**12, "4096", [1], 4096.0]
        for odd in odd_values:
            meta: Json = {"n_ctx": odd}
            model: Json = {"id": "m", "object": "model", "meta": meta, "status": [odd]}
            server = found({"data": [model]})
            assert server is not None
            assert server.context_tokens is None

    @pytest.mark.parametrize(
        ("given", "url"),
        [
            ("", "http://127.0.0.1:8080"),
            ("http://box:9000", "http://box:9000"),
            ("http://box", "http://box:80"),
            ("https://box/llm/v1/", "https://box:443/llm"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("box:9000", None),
            ("http://user:secret@box", None),
            ("http://bücher.example", None),
        ],
    )
    def test_its_address_is_read_from_the_variable(self, given: str, url: str | None) -> None:
        assert llama_server_url({"LLAMA_SERVER_URL": given}) == url


class TestListeners:
    def test_a_reply_without_length_ends_with_its_connection(self) -> None:
        def serve(connection: socket.socket) -> None:
            assert request_path(connection) == "/x"
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n[1,")
            connection.sendall(b"2]")

        with listener(serve) as place:
            assert get_json(f"http://{place}/x", time.monotonic() + 5) == [1, 2]

    @pytest.mark.parametrize(
        "reply",
        [
            b"",
            b"SSH-2.0-OpenSSH_9.9\r\n",
            b"HTTP/1.1 200 OK\r\n\r\nnot JSON",
            b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n[]",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n\xff\xfe",
            b"\xff" * 2_000_000,
        ],
        ids=["nothing", "another protocol", "text", "deep", "elsewhere", "bytes", "endless"],
    )
    def test_what_is_no_json_is_none(self, reply: bytes) -> None:
        def serve(connection: socket.socket) -> None:
            request_path(connection)
            connection.sendall(reply)

        with listener(serve) as place:
            assert get_json(f"http://{place}/x", time.monotonic() + 5) is None

    def test_those_that_trickle_or_stay_silent_are_left_in_time_both_at_once(self) -> None:
        over = threading.Event()

        def trickle(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not over.wait(0.01):
                connection.sendall(b"[")

        def silence(_: socket.socket) -> None:
            over.wait(10)

        with contextlib.ExitStack() as stack:
            ollama = stack.enter_context(listener(trickle))
            llama = stack.enter_context(listener(silence))
            stack.callback(over.set)
            environ = {"OLLAMA_HOST": ollama, "LLAMA_SERVER_URL": f"http://{llama}"}
            begun = time.monotonic()
            running = find_running(environ, timeout_seconds=0.1)
            seconds = time.monotonic() - begun
        assert (running.ollama, running.llama_server) == ((), None)
        assert seconds < 2  # on a busy machine; one after the other would be bounded too

    def test_a_name_that_nobody_knows_is_none(self) -> None:
        assert get_json("http://nobody.invalid:80/", time.monotonic() + 0.5) is None
        assert get_json("http://b\u00fccher.invalid:80/", time.monotonic() + 0.5) is None
        assert get_json("http://127.0.0.1:99999/", time.monotonic() + 0.5) is None
        assert get_json("http://127.0.0.1:1/", time.monotonic() - 1) is None


def test_both_are_found_at_once() -> None:
    tags = json.loads('{"models": [{"name": "qwen3:8b"}]}')
    pages: dict[str, Json] = {"/api/tags": tags, "/v1/models": listing("m")}
    with json_server(pages) as place:
        running = find_running({"OLLAMA_HOST": place, "LLAMA_SERVER_URL": f"http://{place}"})
    assert running.ollama == ("qwen3:8b",)
    assert running.llama_server is not None
    assert find_running(NOBODY).ollama == ()


def test_no_folder_of_weights_is_no_weights(tmp_path: Path) -> None:
    assert installed_weights(None) == installed_weights(tmp_path) == ()
    (tmp_path / "models").touch()
    assert installed_weights(tmp_path) == ()
