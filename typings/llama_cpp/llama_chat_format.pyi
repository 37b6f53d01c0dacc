class ChatFormatterResponse:
    prompt: str

class Jinja2ChatFormatter:
    """A model's chat template."""

    def __init__(self, template: str, eos_token: str, bos_token: str) -> None: ...
    def __call__(
        self, *, messages: list[dict[str, str]], **options: object
    ) -> ChatFormatterResponse: ...
