"""What `doctor` finds out about the web: which engine searches, and what may be read."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from config.bundled import KEY_VARIABLES
from config.http_address import is_loopback
from modules.cli.doctor_findings import Check

if TYPE_CHECKING:
    from config.schema import AgentProfile, SecuritySection, WebSection

_PROVENANCE: Final = {
    "auto": "auto: you are asked at a terminal, and calls are refused elsewhere",
    "ask": "ask: you are asked at a terminal, and calls are refused where nobody is there",
    "strict": "strict: calls are refused",
}
"""What happens when a plan passes on an address that nobody named."""


_APPROVALS: Final = {
    "changing": "changing: a call that may change something, and that the request does not ask "
    "for, waits for your yes",
    "always": "always: every call waits for your yes",
}
"""Which calls the user must allow."""


def web_checks(profile: "AgentProfile", environ: Mapping[str, str]) -> Iterator[Check]:
    """The engine and its key, hosts that are open, and the rule for addresses; nothing is asked."""
    yield _engine(profile.web, environ)
    yield _pages(profile.web)
    if profile.web.captions.startswith("gemini") and not environ.get("GEMINI_API_KEY"):
        yield Check(
            "web",
            "pictures",
            "missing",
            "web.captions names Gemini, and GEMINI_API_KEY is not set in the environment",
            "set it, or choose other captions",
        )
    yield _provenance(profile.security)
    yield _approvals(profile.security)


def _engine(section: "WebSection", environ: Mapping[str, str]) -> Check:
    told = section.search
    if section.search_url is not None:
        told = f"{told} at {section.search_url}"
        place = urlsplit(section.search_url)
        host = place.hostname or ""
        opened = {host, f"[{host}]", place.netloc} & set(section.allow_private)
        if _is_of_this_network(host) and not opened:
            advice = f"if it is yours, add {host} to web.allow_private"
            told = f"{told}, which is not on the public internet and so is not asked"
            return Check("web", "engine", "missing", told, advice)
    name = KEY_VARIABLES.get(section.search)
    if name is None:
        return Check("web", "engine", "ok", f"{told} (needs no key)")
    if environ.get(name):
        return Check("web", "engine", "ok", f"{told}: {name} is set")
    advice = "set it, or choose another engine in web.search"
    return Check("web", "engine", "missing", f"{told}: {name} is not set", advice)


def _pages(section: "WebSection") -> Check:
    if not section.allow_private:
        return Check("web", "pages", "ok", "of public addresses only")
    told = f"of public addresses, and of hosts that you named: {', '.join(section.allow_private)}"
    return Check("web", "pages", "note", told)


def _provenance(section: "SecuritySection") -> Check:
    if section.provenance == "off":
        told = "off: a hostile page may have a model send what it read to any address"
        advice = "take out security.provenance, or set it to auto"
        return Check("web", "provenance", "note", told, advice)
    return Check("web", "provenance", "ok", _PROVENANCE[section.provenance])


def _approvals(section: "SecuritySection") -> Check:
    if section.approvals == "never":
        told = "never: a plan may call any tool, also one that changes things, without a question"
        advice = "take out security.approvals, or set it to changing"
        return Check("web", "approvals", "note", told, advice)
    return Check("web", "approvals", "ok", _APPROVALS[section.approvals])


def _is_of_this_network(host: str) -> bool:
    """Whether a host is a number of a private network, or this machine; names aren't looked up."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return is_loopback(host)
