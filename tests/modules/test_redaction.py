"""Secrets of the environment are found wherever they stand in a text."""

from modules.redaction import Redactor

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


def test_texts_deep_inside_a_value_are_found_keys_too() -> None:
    value = Redactor(ENVIRON).json(
        {"a": [{"AIza-0123456789": 1}, "x AIza-0123456789", 2, None, True], "b": 1.5}
    )
    assert value == {
        "a": [{"[redacted GEMINI_API_KEY]": 1}, "x [redacted GEMINI_API_KEY]", 2, None, True],
        "b": 1.5,
    }


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
