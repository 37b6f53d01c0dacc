"""Where an Ollama server is, and what its models are called, as Ollama reads it itself."""

import pytest

from core.base.ollama import checked_address, full_name, ollama_address


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("", "http://127.0.0.1:11434"),
        ("  'box' ", "http://box:11434"),
        ("box:80", "http://box:80"),
        (":8000", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - nothing is bound: a setting's text
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("::", "http://[::1]:11434"),
        ("[::]:5", "http://[::1]:5"),
        ("::1", "http://[::1]:11434"),
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("http://box:11434/v1", "http://box:11434"),
        ("http://box:11434/api/", "http://box:11434"),
        ("box:99999", "http://box:11434"),
        ("box:port", "http://box:11434"),
        ("ollama.com", "https://ollama.com:443"),
    ],
)
def test_the_address_is_read_as_ollama_reads_it(said: str, meant: str) -> None:
    assert ollama_address({"OLLAMA_HOST": said}) == meant
    assert checked_address({"OLLAMA_HOST": said}) == meant


@pytest.mark.parametrize("said", ["http://user:geheim@box", "ftp://box", "a b", "box?x=1"])
def test_what_can_not_be_asked_is_no_address(said: str) -> None:
    with pytest.raises(ValueError, match="OLLAMA_HOST holds no usable address") as caught:
        checked_address({"OLLAMA_HOST": said})
    assert "geheim" not in str(caught.value)


def test_a_name_without_a_tag_means_the_latest() -> None:
    assert full_name("qwen3") == "qwen3:latest"
    assert full_name("localhost:5000/me/qwen3") == "localhost:5000/me/qwen3:latest"
    assert full_name("qwen3:4b") == "qwen3:4b"
