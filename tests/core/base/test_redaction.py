"""Secrets are known by name and by shape, and found wherever they stand in a text."""

import base64
import html
import json
import re
import shlex
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.json_text import Json
from core.base.redaction import Redactor, is_little_but_a_key, names_a_secret

ENVIRON = {
    "GEMINI_API_KEY": "AIza-0123456789",
    "github_token": "ghp_secret.value*",
    "LONGER_SECRET": "AIza-0123456789-and-more",
    "SHORT_KEY": "abc",
    "EMPTY_PASSWORD": "",
    "BLANK_PASSWORD": "         ",
    "PADDED_TOKEN": "  padded-token  ",
    "HOME": "/home/somebody",
}


def test_every_secret_is_replaced_by_the_name_of_its_variable() -> None:
    text = "key=AIza-0123456789, ghp_secret.value* twice: AIza-0123456789; padded-token"
    assert Redactor(ENVIRON).text(text) == (
        "key=[redacted GEMINI_API_KEY], [redacted github_token] "
        "twice: [redacted GEMINI_API_KEY]; [redacted PADDED_TOKEN]"
    )


def test_a_secret_that_holds_another_goes_as_a_whole() -> None:
    assert Redactor(ENVIRON).text("AIza-0123456789-and-more") == "[redacted LONGER_SECRET]"


def test_short_values_other_variables_and_lookalikes_stay() -> None:
    text = "abc /home/somebody ghp_secretXvalue* <         >"
    assert Redactor(ENVIRON).text(text) == text


@pytest.mark.parametrize("secret", ["hunter2", "s3cr3t", "$a'b\"c", "1234567", "pässwö7"])
def test_a_short_secret_is_found_where_it_is_a_word_of_its_own(secret: str) -> None:
    redactor, masked = Redactor({"DB_PASSWORD": secret}), "[redacted DB_PASSWORD]"
    for text in ("{}", "password={}", "'{}'", "({}), {}.", "a\n{}\nb", "{}@host", "--pass={}&x"):
        assert redactor.text(text.replace("{}", secret)) == text.replace("{}", masked)
    for text in (f"x{secret}y", f"{secret[:-1]}", f"_{secret}_1"):
        assert redactor.text(text) == text
    assert secret not in redactor.text(json.dumps({"a": secret}))
    assert redactor.json({"a": [secret]}) == {"a": [masked]}
    assert Redactor({"DB_NAME": secret}).text(secret) == secret


def test_texts_deep_inside_a_value_are_found_keys_too() -> None:
    value = Redactor(ENVIRON).json(
        {"a": [{"AIza-0123456789": 1}, "x AIza-0123456789", 2, None, True], "b": 1.5}
    )
    assert value == {
        "a": [{"[redacted GEMINI_API_KEY]": 1}, "x [redacted GEMINI_API_KEY]", 2, None, True],
        "b": 1.5,
    }


def test_a_number_that_is_a_secret_or_masked_is_found_and_others_stay_numbers() -> None:
    redactor = Redactor({"DB_PASSWORD": "12345678"})
    value: Json = {"a": 12345678, "b": [-12345678.0, 1234567, True, 0.5, 10**5_000]}
    assert redactor.json(value) == {
        "a": "[redacted DB_PASSWORD]",
        "b": ["-[redacted DB_PASSWORD].0", 1234567, True, 0.5, 10**5_000],
    }
    masked = Redactor({})
    masked.mask([r"\b4\d{15}\b"])
    assert masked.json([4111111111111111, 41]) == ["[redacted MASK]", 41]


def test_without_secrets_nothing_changes_and_no_secret_shows_in_repr() -> None:
    assert Redactor({}).text("AIza-0123456789") == "AIza-0123456789"
    assert "AIza" not in repr(Redactor(ENVIRON))


def test_secrets_from_elsewhere_are_replaced_too_but_for_the_shortest() -> None:
    redactor = Redactor({"A_TOKEN": "from-the-environment"}, ["Bearer abc-123", " abc-123 ", "no"])
    text = "Authorization: Bearer abc-123; abc-123; from-the-environment; no"
    assert redactor.text(text) == (
        "Authorization: [redacted SECRET]; [redacted SECRET]; [redacted A_TOKEN]; no"
    )
    assert "abc" not in repr(redactor)


def test_a_secret_that_a_variable_holds_as_well_is_called_by_its_name() -> None:
    assert Redactor({"A_TOKEN": "same-value"}, ["same-value"]).text("same-value") == (
        "[redacted A_TOKEN]"
    )


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "GITHUB_PERSONAL_ACCESS_TOKEN", "x-api-key", "tavilyApiKey", "accessToken"),
        *("GITHUB_PAT", "DB_PASSWORD", "TOKEN", "PGPASSWORD", "AWS_ACCESS_KEY_ID", "API_KEY_PROD"),
        *("AWS_SECRET_ACCESS_KEY", "SMTP_PASS", "MYSQL_PWD", "REDIS_AUTH", "--api-key", "key"),
    ],
)
def test_names_of_secrets_are_known_word_by_word(name: str) -> None:
    assert names_a_secret(name)
    assert Redactor({name: "the-value-itself"}).text("<the-value-itself>") == f"<[redacted {name}]>"


@pytest.mark.parametrize(
    "name",
    [
        *("MONKEY", "PATH", "KEYBOARD", "LOG_LEVEL", "MAX_TOKENS", "PWD", "OLDPWD", "COMPASS", ""),
        *(
            "SSH_AUTH_SOCK",
            "TOKENIZERS_PARALLELISM",
            "PASSWORD_FILE",
            "SECRET_NAME",
            "DATABASE_URL",
        ),
    ],
)
def test_names_that_only_sound_alike_are_none(name: str) -> None:
    assert not names_a_secret(name)


AWKWARD = "q\"uo'te\\back/ä +&\ttab"


@pytest.mark.parametrize(
    "written",
    [
        AWKWARD,
        json.dumps(AWKWARD),
        json.dumps(AWKWARD, ensure_ascii=False),
        json.dumps(json.dumps({"key": AWKWARD})),
        repr(AWKWARD),
        repr("it's " + AWKWARD),
        repr({"key": AWKWARD}),
        shlex.quote(AWKWARD),
        quote(AWKWARD),
        quote(AWKWARD, safe=""),
        re.sub("%..", lambda found: found[0].lower(), quote(AWKWARD, safe="")),
        json.dumps(AWKWARD).replace("/", "\\/"),
        html.escape(AWKWARD),
        quote_plus(AWKWARD),
        base64.b64encode(AWKWARD.encode()).decode(),
        base64.urlsafe_b64encode(f"user:{AWKWARD}".encode()).decode(),
        base64.b64encode(f"me:{AWKWARD}!!".encode()).decode(),
    ],
)
def test_a_secret_is_found_as_other_texts_write_it(written: str) -> None:
    text = Redactor({"A_KEY": AWKWARD}).text(f"<{written}>")
    assert "[redacted A_KEY]" in text
    assert len(text) < len("<'it''s [redacted A_KEY]'>") + 16
    assert "back" not in text


@settings(deadline=None, max_examples=60)
@given(st.text(min_size=8, max_size=40).filter(lambda text: len(text.strip()) >= 8), st.text())
def test_no_text_in_which_a_secret_is_written_holds_it_afterwards(secret: str, around: str) -> None:
    redactor = Redactor({"A_KEY": secret})
    value = secret.strip()
    for written in (value, json.dumps(value), repr(value), quote(value.encode("utf-8", "replace"))):
        assert written.strip("\"'") not in redactor.text(f"{around}{written}{around}").replace(
            "[redacted A_KEY]", ""
        )


KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"]
PEM = "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----".format(*KEY_LINES)


def test_each_line_of_a_secret_of_several_is_one() -> None:
    redactor = Redactor({"TLS_KEY": PEM})
    for line in KEY_LINES:
        assert redactor.text(f"log: {line}\n") == "log: [redacted TLS_KEY]\n"
    escaped = Redactor({"TLS_KEY": PEM.replace("\n", "\\n")})
    assert escaped.text(KEY_LINES[1]) == "[redacted TLS_KEY]"
    assert redactor.text("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"key: {PEM} end", "key: -----BEGIN PRIVATE KEY-----*-----END PRIVATE KEY----- end"),
        (json.dumps(PEM), '"-----BEGIN PRIVATE KEY-----*-----END PRIVATE KEY-----"'),
        ("to postgres://app:hunter2@db/x", "to postgres://app:*@db/x"),
        ("redis://:pw@host:6379", "redis://:*@host:6379"),
        (f"x ghp_{'a1' * 18} y", "x * y"),
        (f"sk-proj-{'aB3-' * 8}", "*"),
        ("AKIAIOSFODNN7EXAMPLE", "*"),
        (f"AIza{'x' * 35}", "*"),
    ],
)
def test_secrets_that_nobody_named_are_known_by_their_shape(text: str, clean: str) -> None:
    assert Redactor({}).text(text).replace("[redacted SECRET]", "*") == clean


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com:8080/a?b=c and me@example.com",
        "postgres://user:${PASSWORD}@host and redis://:<password>@host",
        "sk-learn-is-a-name-of-many-words and task-0123456789012345678901234",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "ghp_short, AKIA, eyJ.eyJ.x, hf_model",
    ],
)
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    assert Redactor({}).text(text) == text


def test_the_password_of_an_address_is_a_secret_by_itself() -> None:
    redactor = Redactor({"DATABASE_URL": "postgres://app:p%40ssw0rd@db:5432/x"})
    assert redactor.text("login failed: p@ssw0rd, p%40ssw0rd") == (
        "login failed: [redacted DATABASE_URL], [redacted DATABASE_URL]"
    )


def test_a_password_that_is_the_users_name_is_no_secret_outside_of_its_address() -> None:
    redactor = Redactor({"DATABASE_URL": "postgres://postgres:postgres@localhost/x"})
    assert redactor.text("a postgres server") == "a postgres server"
    assert redactor.text("postgres://postgres:postgres@localhost/x") == (
        "postgres://postgres:[redacted SECRET]@localhost/x"
    )


def test_a_secret_that_was_cut_off_is_found_by_its_beginning() -> None:
    redactor = Redactor({"A_TOKEN": "from-the-environment"})
    assert redactor.text("key=from-the-env… (6 ms)") == "key=[redacted A_TOKEN]… (6 ms)"
    assert redactor.text("and so on from…") == "and so on from…"


@pytest.mark.parametrize(
    "hostile",
    [
        *("://:", "-----BEGIN PRIVATE KEY-----", "eyJ", "eyJaaaaaaaaa.", "sk-", "gh", "…", "AKIA"),
        *("-----BEGIN RSA PRIVATE KEY-----\na", "xox", "glpat-", "github_pat_", "sk-1A"),
    ],
)
def test_no_text_takes_long(hostile: str) -> None:
    redactor = Redactor({f"A{n}_KEY": f"value-{n}-of-a-key" for n in range(20)})
    started = time.process_time()
    redactor.text(hostile * (500_000 // len(hostile)))
    redactor.text(hostile + "a" * 500_000)
    assert time.process_time() - started < 4  # far above what it takes; it is not quadratic


def test_what_is_learnt_later_counts_and_keeps_its_name() -> None:
    redactor = Redactor({"A_KEY": "in-the-environment"})
    redactor.learn(["kept-elsewhere", "in-the-environment", "short"])
    assert redactor.text("kept-elsewhere in-the-environment short") == (
        "[redacted SECRET] [redacted A_KEY] short"
    )


def test_the_users_own_patterns_are_masked_too_in_texts_of_any_length() -> None:
    redactor = Redactor({})
    redactor.mask([r"\b\d{4}\b", "Ines"])
    assert redactor.text("1234") == "[redacted MASK]"
    told = redactor.json({"who": "Ines, 12345", "pins": ["4321"]})
    assert told == {"who": "[redacted MASK], 12345", "pins": ["[redacted MASK]"]}


@pytest.mark.parametrize(
    "text",
    [
        f"AIza{'a' * 35}",
        f" sk-proj-{'aB3-' * 8}\n",
        f"sk-{'0123456789abcdef' * 2}",
        f"my key is sk-ant-api03-{'aB3' * 10}",
        f"gsk_{'a1B' * 17}",
        "0123456789abcdef" * 2,
        f"token: ghp_{'a' * 36}",
        "GEMINI_API_KEY=abcdefgh12",
        "export OPENAI_API_KEY='abc12345'",
        "OPENAI_API_KEY: abcd1234",
    ],
)
def test_a_key_is_known_though_nobody_named_it(text: str) -> None:
    assert is_little_but_a_key(text)


@pytest.mark.parametrize(
    "text",
    [
        *("add 5 and 7", "what is key=value?", "sk-learn-is-a-name", "password strength", "a=1"),
        *("Donaudampfschifffahrtsgesellschaft", "1234567890" * 4, "factorial(25)*2**100+3"),
        "read https://user:pass1234@host/x",
        f"explain what is wrong with this configuration of mine: key AIza{'a' * 35}",
    ],
)
def test_a_request_is_no_key(text: str) -> None:
    assert not is_little_but_a_key(text)


@pytest.mark.parametrize("text", ["a" * 100_000, "1" * 100_000, "a " * 50_000, "sk-" * 30_000])
def test_whether_a_text_is_a_key_is_known_at_once(text: str) -> None:
    began = time.process_time()
    is_little_but_a_key(text)
    assert time.process_time() - began < 1
