"""Names of servers, which may be anything in an `mcp.json`, and the ids that stand for them."""

import re

MAX_ID_CHARACTERS = 64
"""To this length a name is cut that is made into an id."""

ID_FORM = "a name starts with a letter and holds letters, digits, '-' and '_'"

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def is_server_id(name: str) -> bool:
    """Whether the name is an id as it stands; `config.schema.ServerEntry` asks for the same."""
    return _ID.fullmatch(name) is not None


def server_id_of(name: str) -> str:
    """The id that stands for a name: itself if it is one, else what is left without the rest.

    `My Server!` becomes `My-Server`, `@acme/search` `acme-search`, `1password`
    `server-1password`.
    """
    if is_server_id(name):
        return name
    import unicodedata  # late: names are ids as a rule

    letters = unicodedata.normalize("NFKD", name[: 4 * MAX_ID_CHARACTERS])
    plain = letters.encode("ascii", "ignore").decode("ascii")
    made = re.sub(r"[^A-Za-z0-9_]+", "-", plain)[:MAX_ID_CHARACTERS].strip("-_")
    if not made:
        return "server"
    return made if made[0].isalpha() else f"server-{made}"
