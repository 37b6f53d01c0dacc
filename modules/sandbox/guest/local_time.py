"""Time zones: WebAssembly has clocks, but its C library knows no zone but UTC, and no files."""

import datetime as datetimes
import importlib
import io
import time
import zoneinfo
from importlib import resources
from typing import Self, cast

_date, _datetime = datetimes.date, datetimes.datetime
_localtime, _mktime, _strftime = time.localtime, time.mktime, time.strftime


def keep_zones() -> None:
    """Have `zoneinfo` find in memory what the package tzdata has in files."""
    root = resources.files("tzdata")
    names = (root / "zones").read_text().split()
    found = {name: (root / "zoneinfo").joinpath(*name.split("/")).read_bytes() for name in names}

    def load_tzdata(key: str) -> io.BytesIO:
        if key not in found:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(found[key])

    vars(importlib.import_module("zoneinfo._common"))["load_tzdata"] = load_tzdata
    zoneinfo.available_timezones = lambda: {*found}


def be_in_zone(offset_seconds: int) -> None:  # noqa: C901 - it defines much and decides little
    """Make `datetime` and `time` tell local times so far ahead of UTC."""
    zone = datetimes.timezone(datetimes.timedelta(seconds=offset_seconds))

    class OfBase(type):
        """Values that C code makes are instances too."""

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, cls.__base__ or object)

        def __subclasscheck__(cls, kind: type) -> bool:
            return issubclass(kind, cls.__base__ or object)

    class date(_date, metaclass=OfBase):
        @classmethod
        def fromtimestamp(cls, timestamp: float, /) -> Self:
            local = _datetime.fromtimestamp(timestamp, zone)
            return cls(local.year, local.month, local.day)

        def __repr__(self) -> str:
            return f"datetime.{_date.__repr__(self)}"

    class datetime(_datetime, metaclass=OfBase):
        @classmethod
        def now(cls, tz: datetimes.tzinfo | None = None) -> Self:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls) -> Self:
            return cls.now()

        @classmethod
        def fromtimestamp(cls, timestamp: float, tz: datetimes.tzinfo | None = None) -> Self:
            if tz is not None:
                return super().fromtimestamp(timestamp, tz)
            return super().fromtimestamp(timestamp, zone).replace(tzinfo=None)

        def timestamp(self) -> float:
            return _datetime.timestamp(self if self.tzinfo else self.replace(tzinfo=zone))

        def astimezone(self, tz: datetimes.tzinfo | None = None) -> Self:
            aware = self if self.tzinfo else self.replace(tzinfo=zone)
            return cast("Self", _datetime.astimezone(aware, tz or zone))

        def __repr__(self) -> str:
            return f"datetime.{_datetime.__repr__(self)}"

    def localtime(seconds: float | None = None) -> time.struct_time:
        at = time.time() if seconds is None else seconds
        return time.gmtime(at + offset_seconds)

    def strftime(form: str, when: time.struct_time | None = None) -> str:
        return _strftime(form, localtime() if when is None else when)

    for kind in (date, datetime):  # as pickle finds them
        kind.__module__, kind.__qualname__ = "datetime", kind.__name__
    datetimes.date, datetimes.datetime = date, datetime
    time.localtime, time.strftime = localtime, strftime
    time.mktime = lambda when: _mktime(when) - offset_seconds
    time.ctime = lambda seconds=None: time.asctime(localtime(cast("float | None", seconds)))
    time.timezone = time.altzone = -offset_seconds
    time.tzname = (zone.tzname(None), zone.tzname(None))
