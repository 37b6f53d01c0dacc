"""Where Ollama listens, as it reads OLLAMA_HOST itself."""

import pytest

from servers.shared.ollama_host import ollama_base_url


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("box:99", "http://box:99"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("http://box", "http://box:80"),
        ("http://[::1]:5", "http://[::1]:5"),
    ],
)
def test_the_address_is_read_as_ollama_reads_it(given: str, address: str) -> None:
    assert ollama_base_url({"OLLAMA_HOST": given}) == address
