"""Hosts that are this machine."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether it is this machine: `localhost`, names under it (RFC 6761, 6.3), 127.0.0.1, ::1."""
    host = host.removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
