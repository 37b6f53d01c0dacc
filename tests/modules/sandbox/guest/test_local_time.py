"""The host's time zone in a plan, and the zones of the world."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
import pytest_asyncio

from core.values import Json, JsonObject
from modules.sandbox.limits import SandboxLimits
from modules.sandbox.walls.launcher import worker_command
from modules.sandbox.worker import Worker
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS

IMPORTS = "import datetime, time\nfrom datetime import date, datetime as dt, timedelta, timezone\n"
CLOSE_SECONDS = 20
"""How far apart two looks at the clock may be on a busy machine."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def worker() -> AsyncIterator[Worker]:
    limits = SandboxLimits()
    command = await asyncio.to_thread(worker_command, limits)
    started = await Worker.started(command, limits.cpu_seconds)
    yield started
    await started.end()


async def told(worker: Worker, expression: str, zone_seconds: int) -> Json:
    """What an expression gives in a plan whose host is so far ahead of UTC."""
    request: JsonObject = {
        "source": f"{IMPORTS}def solve():\n    return {expression}\n",
        "names": [],
        "texts": {},
        "zone_seconds": zone_seconds,
        "recursion_depth": 1000,
        "result_bytes": 10_000,
        "argument_bytes": 10_000,
    }
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        answer = await worker.ask("S", json.dumps(request), lambda text: None)
    message: dict[str, Json] = json.loads(answer[1:])
    assert "value" in message, message
    return message["value"]


ZONES = [-10 * 3600, -3 * 3600 - 1800, 0, 3600, 5 * 3600 + 2700, 14 * 3600]

SAME: dict[str, Json] = {
    "isinstance(dt.fromisoformat('2024-03-01'), dt)": True,
    "isinstance(dt.strptime('2024', '%Y'), dt)": True,
    "isinstance(dt(2024, 3, 1) + timedelta(1), dt)": True,
    "isinstance(dt(2024, 3, 1).date(), date)": True,
    "isinstance(dt.now().date(), date)": True,
    "isinstance(dt.now(), date)": True,
    "isinstance(date.today(), dt)": False,
    "isinstance(dt.combine(date(2024, 3, 1), datetime.time()), dt)": True,
    "isinstance(date.today() - timedelta(1), date)": True,
    "issubclass(dt, date)": True,
    "type(dt(2024, 3, 1)) is dt": True,
    "type(dt.now()) is type(dt(2024, 3, 1))": True,
    "dt(2024, 3, 1) == dt.fromisoformat('2024-03-01')": True,
    "repr(dt(2024, 3, 1))": "datetime.datetime(2024, 3, 1, 0, 0)",
    "repr(date(2024, 3, 1))": "datetime.date(2024, 3, 1)",
    "repr(dt(2024, 3, 1).date())": "datetime.date(2024, 3, 1)",
    "str(dt(2024, 3, 1, 7))": "2024-03-01 07:00:00",
    "dt(2024, 3, 1).strftime('%A %d %B %Y')": "Friday 01 March 2024",
    "f'{dt(2024, 3, 1):%Y/%m/%d}'": "2024/03/01",
    "dt.fromtimestamp(0, timezone.utc).isoformat()": "1970-01-01T00:00:00+00:00",
    "dt(2024, 3, 1, tzinfo=timezone.utc).timestamp()": 1709251200.0,
    "time.gmtime(0)[:6]": [1970, 1, 1, 0, 0, 0],
    "time.strftime('%H:%M', time.gmtime(3600))": "01:00",
    "dt.now(timezone.utc).utcoffset() == timedelta(0)": True,
    "(dt.max - dt.min).days": 3652058,
    "date.fromtimestamp(0) == dt.fromtimestamp(0).date()": True,
    "__import__('copy').copy(dt(2024, 3, 1)) == dt(2024, 3, 1)": True,
    "__import__('pickle').loads(__import__('pickle').dumps(dt(2024, 3, 1))).isoformat()": (
        "2024-03-01T00:00:00"
    ),
    "sorted([dt(2024, 3, 2), dt.strptime('2024-03-01', '%Y-%m-%d')])[0].day": 1,
    "(lambda v: v if not isinstance(v, dt) else 'moment')(dt.now() - timedelta(1))": "moment",
    "[c for c in [0] for v in [dt.now()] for m in [v.replace(hour=1)] if isinstance(m, dt)]": [0],
}
"""What is the same in every zone."""


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("zone_seconds", [0, 3600])
async def test_dates_are_what_they_are_in_cpython(zone_seconds: int, worker: Worker) -> None:
    found = await told(worker, f"[{', '.join(SAME)}]", zone_seconds)
    assert found == [*SAME.values()]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("zone_seconds", ZONES)
async def test_moments_are_those_of_the_hosts_zone(zone_seconds: int, worker: Worker) -> None:
    zone = timezone(timedelta(seconds=zone_seconds))
    moment = datetime(2024, 3, 1, 12, tzinfo=UTC)
    stamp, local = moment.timestamp(), moment.astimezone(zone)
    expected: dict[str, Json] = {
        f"dt.fromtimestamp({stamp}).isoformat()": local.replace(tzinfo=None).isoformat(),
        f"date.fromtimestamp({stamp}).isoformat()": local.date().isoformat(),
        f"time.localtime({stamp})[:6]": list(local.timetuple()[:6]),
        f"time.mktime(time.localtime({stamp}))": stamp,
        f"time.strftime('%Y-%m-%d %H:%M', time.localtime({stamp}))": f"{local:%Y-%m-%d %H:%M}",
        f"time.ctime({stamp})": local.ctime(),
        f"dt.fromtimestamp({stamp}).timestamp()": stamp,
        f"dt.fromtimestamp({stamp}).astimezone().isoformat()": local.isoformat(),
        f"dt.fromtimestamp({stamp}).astimezone(timezone.utc).isoformat()": moment.isoformat(),
        f"dt.fromtimestamp({stamp}, timezone.utc).astimezone().isoformat()": local.isoformat(),
        "time.timezone": -zone_seconds,
    }
    assert await told(worker, f"[{', '.join(expected)}]", zone_seconds) == [*expected.values()]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("zone_seconds", ZONES)
async def test_now_is_now_in_the_hosts_zone(zone_seconds: int, worker: Worker) -> None:
    zone = timezone(timedelta(seconds=zone_seconds))
    looks = [
        "dt.now().isoformat()",
        "dt.today().isoformat()",
        "dt.now().astimezone().replace(tzinfo=None).isoformat()",
        "dt(*time.localtime()[:6]).isoformat()",
        "dt.strptime(time.strftime('%Y-%m-%d %H:%M:%S'), '%Y-%m-%d %H:%M:%S').isoformat()",
        "dt.fromtimestamp(time.time()).isoformat()",
        "dt.combine(date.today(), dt.now().time()).isoformat()",
    ]
    found = await told(worker, f"[{', '.join(looks)}]", zone_seconds)
    assert isinstance(found, list)
    now = datetime.now(zone).replace(tzinfo=None)
    for look, text in zip(looks, found, strict=True):
        late = (now - datetime.fromisoformat(str(text))).total_seconds()
        assert abs(late) < CLOSE_SECONDS, look


@pytest.mark.asyncio(loop_scope="module")
async def test_the_zones_of_the_world_are_there(worker: Worker) -> None:
    expression = (
        "(lambda z: [z.ZoneInfo('Europe/Berlin').utcoffset(dt(2024, 7, 1)).seconds,"
        " dt(2024, 1, 1, tzinfo=z.ZoneInfo('Asia/Kathmandu')).isoformat(),"
        " len(z.available_timezones()) > 400, 'UTC' in z.available_timezones()])"
        "(__import__('zoneinfo'))"
    )
    found = await told(worker, expression, 0)
    assert found == [7200, "2024-01-01T00:00:00+05:45", True, True]
    unknown = "__import__('zoneinfo').ZoneInfo('Nowhere/At_All')"
    with pytest.raises(AssertionError, match="ZoneInfoNotFoundError"):
        await told(worker, unknown, 0)
