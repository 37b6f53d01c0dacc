"""Connections to servers: one that lasts, and one that is made anew for every call."""

from typing import TypeAlias

from core.dispatch.per_call import PerCallConnection
from core.dispatch.persistent import ServerConnection

__all__ = ["Connection", "PerCallConnection", "ServerConnection"]

Connection: TypeAlias = ServerConnection | PerCallConnection
