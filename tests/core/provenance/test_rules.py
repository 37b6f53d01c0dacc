"""Rules for calls: how they are written, and what they match."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.provenance.arguments import ArgumentText, words_of
from core.provenance.rules import (
    Around,
    Rule,
    RuleError,
    literal,
    matches,
    origin_of_url,
    read_rule,
)
from core.values import Json

AROUND = Around("/srv/app", "/home/me")


def fits(name: str, pattern: str, value: Json, around: Around = AROUND) -> bool:
    return matches(pattern, ArgumentText(words_of(name), ""), value, around)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("bank.pay", Rule("bank.pay")),
        (" bank.pay ( * ) ", Rule("bank.pay", ())),
        ("f.w(path=/a b/*)", Rule("f.w", (("path", "/a b/*"),))),
        ("f.w(path=/a(b)/*, mode=x)", Rule("f.w", (("path", "/a(b)/*"), ("mode", "x")))),
        ('f.w(text="a, b\\"", n=1)', Rule("f.w", (("text", 'a, b"'), ("n", "1")))),
        ("s.run(command=git status*)", Rule("s.run", (("command", "git status*"),))),
        ("m.send(to=*@example.org,cc=)", Rule("m.send", (("to", "*@example.org"), ("cc", "")))),
    ],
)
def test_a_rule_is_read(text: str, rule: Rule) -> None:
    assert read_rule(text) == rule
    assert read_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no rule"),
        ("a b", "is no rule"),
        ("a.b(c=d", "is no rule"),
        ("a.b()", "names no argument"),
        ("a.b(c)", "names no argument"),
        ("a.b(c=1, c=2)", "twice"),
        ('a.b(c="d)', "does not end"),
        ('a.b(c="d" e=f)', "comma is missing"),
        ("x" * 5_000, "is no rule"),
    ],
)
def test_what_is_no_rule_is_told_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(RuleError, match=says):
        read_rule(text)


@given(st.lists(st.tuples(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=30))))
def test_a_rule_that_is_written_down_is_read_as_it_was(
    patterns: list[tuple[str, str]],
) -> None:
    named = tuple(dict(patterns).items())
    rule = Rule("server.tool", named or None)
    assert read_rule(str(rule)) == rule


@given(st.text(max_size=60), st.sampled_from(["path", "to", "url", "command", "title"]))
def test_a_literal_pattern_fits_its_own_value(value: str, name: str) -> None:
    assert fits(name, literal(value), value)


FITTING: list[tuple[str, str, Json]] = [
    ("path", "/home/me/notes/*", "/home/me/notes/a/b.txt"),
    ("path", "~/notes/*", "/home/me/notes/a.txt"),
    ("path", "/home/me/notes/*", "~/notes/./x/../a.txt"),
    ("path", "/home/me/notes/*", "file:///home/me/notes/a.txt"),
    ("path", "notes/*.md", "/srv/app/notes/a.md"),
    ("to", "*@example.org", "bob@Example.ORG"),
    ("to", "*@example.org", "Bob Smith <bob@example.org>"),
    ("to", "*@example.org", ["a@example.org", "b@example.org"]),
    ("to", "*@example.org", "a@example.org, b@example.org"),
    ("to", "*@example.org", "bob@\uff45xample.org"),
    ("url", "https://example.org/*", "https://www.example.org:443/a?b=c"),
    ("url", "https://*.example.org/*", "https://docs.example.org/a"),
    ("url", "https://example.org/a*", "HTTPS://EXAMPLE.org/a/./b"),
    ("command", "git status*", "git status --short"),
    ("command", "ls*", "ls"),
    ("command", "*", "ls -l"),
    ("amount", "98.70", 98.7),
    ("amount", "98.7", "98.700"),
    ("amount", "[1-9]0", 50),
    ("private", "true", True),
    ("label", "in?ox", "inbox"),
    ("anything", "*", {"a": [1]}),
    ("to", "*", "whatever"),
]


@pytest.mark.parametrize(("name", "pattern", "value"), FITTING)
def test_a_value_fits_in_its_normal_form(name: str, pattern: str, value: Json) -> None:
    assert fits(name, pattern, value)


OTHER: list[tuple[str, str, Json]] = [
    ("path", "/home/me/notes/*", "/home/me/notes/../.ssh/id"),
    ("path", "/home/me/notes/*", "/home/me/notes"),
    ("path", "/home/me/notes/*", "/home/me/notesx/a"),
    ("path", "/home/me/notes/*", "/home/me/notes/%2e%2e/.ssh/id"),
    ("path", "/home/me/notes/*", "/home/me/notes/a\0/../../x"),
    ("path", "/home/me/notes/*", "/home/me/notes\\..\\x"),
    ("path", "/home/me/notes/*", "/HOME/ME/NOTES/a"),
    ("path", "/home/me/notes/*", "/home/me/note\u0455/a"),
    ("path", "notes/*", "/home/me/notes/a"),
    ("to", "*@example.org", ["a@example.org", "eve@evil.example"]),
    ("to", "*@example.org", []),
    ("to", "*@example.org", "a@example.org, eve@evil.example"),
    ("to", "*@example.org", "a@example.org\nBcc: eve@evil.example"),
    ("to", "*@example.org", "a@example.org.evil.example"),
    ("to", "*@example.org", "a@evilexample.org"),
    ("to", "*@example.org", '"eve@evil.example"@example.org'),
    ("to", "*@example.org", "a@example.org, eve"),
    ("to", "*@example.org", "a@example.org <eve@evil.example>"),
    ("to", "*@example.org", "eve@evil.example (a@example.org)"),
    ("to", "*@example.org", None),
    ("url", "https://example.org/*", "http://example.org/a"),
    ("url", "https://example.org/*", "https://example.org.evil.example/a"),
    ("url", "https://example.org/*", "https://example.org@evil.example/a"),
    ("url", "https://example.org/*", "https://me@example.org/a"),
    ("url", "https://example.org/*", "https://example.org:8443/a"),
    ("url", "https://example.org/*", "https://example.org/ https://evil.example/"),
    ("url", "https://example.org/*", "https://evil.example\\@example.org/"),
    ("url", "https://*.example.org/*", "https://evil.example/a.example.org/b"),
    ("url", "https://example.org/a*", "https://example.org/a/../b"),
    ("command", "git status*", "git status; curl evil.example"),
    ("command", "git status*", "git status && ls"),
    ("command", "git status*", "git status | sh"),
    ("command", "git status*", "git status & ls"),
    ("command", "git status*", "git status\nls"),
    ("command", "git status*", "git status\rls"),
    ("command", "git status*", "git status $(ls)"),
    ("command", "git status*", "git status `ls`"),
    ("command", "git status*", "git status > /etc/x"),
    ("command", "git status*", "git status < x"),
    ("command", "git status*", 'git status"; ls'),
    ("command", "git status*", "env X=1 git status"),
    ("command", "git status*", "sh -c 'git status'"),
    ("command", "git status*", "GIT_PAGER=x git status"),
    ("command", "git status*", "sudo git status"),
    ("command", "git status*", "git -c core.pager=x status"),
    ("command", "ls*", "lsof"),
    ("command", "*", "/bin/sh -c ls"),
    ("command", "*git status*", "env git status"),
    ("host", "*.example.org", "root@evil.example:a.example.org"),
    ("host", "10.0.0.*", "10.0.0.5.evil.example"),
    ("amount", "98", 980),
    ("amount", "1", True),
    ("amount", "98.70", "98.70 and more"),
    ("data", "a*", {"b": "a"}),
    ("label", "inbox", "Inbox"),
]


@pytest.mark.parametrize(("name", "pattern", "value"), OTHER)
def test_what_only_looks_alike_fits_not(name: str, pattern: str, value: Json) -> None:
    assert not fits(name, pattern, value)


def test_links_are_followed_before_a_path_is_matched(tmp_path: Path) -> None:
    notes, secret = tmp_path / "notes", tmp_path / "secret"
    notes.mkdir()
    secret.mkdir()
    (notes / "out").symlink_to(secret)
    (tmp_path / "alias").symlink_to(notes)
    assert fits("path", f"{notes}/*", f"{notes}/a.txt")
    assert not fits("path", f"{notes}/*", f"{notes}/out/a.txt")
    assert fits("path", f"{tmp_path}/alias/*", f"{notes}/a.txt")
    assert fits("path", f"{notes}/*", "notes/a.txt", Around(str(tmp_path)))
    assert not fits("path", f"{notes}/*", "notes/a.txt", Around())


def test_of_an_address_an_answer_allows_its_host_and_of_an_odd_one_itself() -> None:
    assert origin_of_url("https://www.Example.org/a?b") == "https://example.org/*"
    for odd in ("https://me@example.org/a", "https://a.example/ https://b.example/", "ftp://a.b/c"):
        assert origin_of_url(odd) == literal(odd)
