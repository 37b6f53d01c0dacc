"""docs/openai.md names what the code knows."""

from modules.service.openai_form.asked import Body
from tests.documentation.pages import DOCS

PAGE = (DOCS / "openai.md").read_text(encoding="utf-8")


def test_the_page_names_each_field_that_is_looked_at() -> None:
    fields = PAGE.partition("## Fields")[2].partition("## Errors")[0]
    for name in Body.model_fields:
        assert f"`{name}`" in fields or f"`{name}." in fields, name
