"""The tools that the plans of this folder call: plain async functions, the same at each run."""

import asyncio
import json
from types import SimpleNamespace

PRODUCTS: dict[str, dict[str, object]] = {
    "laptop": {"name": "laptop", "price": 999.0, "stock": 4, "tags": ["computer", "office"]},
    "mouse": {"name": "mouse", "price": 19.5, "stock": 120, "tags": ["computer"]},
    "desk": {"name": "desk", "price": 240.0, "stock": 0, "tags": ["office", "wood"]},
}
ORDERS: list[dict[str, object]] = [
    {"id": 1, "customer": "Ada", "product": "laptop", "quantity": 1, "date": "2024-03-05"},
    {"id": 2, "customer": "Grace", "product": "mouse", "quantity": 3, "date": "2024-03-07"},
    {"id": 3, "customer": "Ada", "product": "mouse", "quantity": 2, "date": "2024-04-01"},
    {"id": 4, "customer": "Linus", "product": "desk", "quantity": 1, "date": "2024-04-15"},
]
TEXTS = {
    "inventory.json": json.dumps(
        {"warehouse": "North", "items": [{"sku": "A1", "count": 7}, {"sku": "B2", "count": 0}]}
    ),
    "sales.csv": 'region,amount,note\nnorth,120.50,ok\nsouth,80.25,"late, paid"\nnorth,9.25,ok\n',
    "server.log": (
        "2024-05-01 10:00:01 INFO start id=7\n"
        "2024-05-01 10:00:05 ERROR disk full id=9\n"
        "2024-05-01 10:01:00 WARN slow id=7\n"
        "2024-05-01 10:02:30 ERROR timeout id=12\n"
    ),
    "note.txt": "The meeting is on 17 May 2024 at 14:30. Bring the report & the “blue” folder.",
    "config.ini": "[server]\nhost = example.org\nport = 8080\n\n[limits]\nretries = 3\n",
}
FORECASTS = {"Paris": (18.5, False), "Oslo": (7.0, True), "Cairo": (31.0, False)}


async def add(a: float, b: float) -> float:
    return a + b


async def multiply(a: float, b: float) -> float:
    return a * b


async def product(name: str) -> dict[str, object]:
    """Gives a product's row, and fails for a product that the shop does not have."""
    if name not in PRODUCTS:
        raise RuntimeError(f"no product is called {name}")
    return dict(PRODUCTS[name])


async def orders() -> list[dict[str, object]]:
    return [dict(order) for order in ORDERS]


async def read(name: str) -> str:
    """Gives a text, and fails for a name that no text has."""
    if name not in TEXTS:
        raise RuntimeError(f"no text is called {name}")
    return TEXTS[name]


async def forecast(city: str) -> dict[str, object]:
    """Gives tomorrow's weather, and fails for a city that it does not know."""
    if city not in FORECASTS:
        raise RuntimeError(f"no forecast for {city}")
    celsius, rain = FORECASTS[city]
    return {"city": city, "celsius": celsius, "rain": rain}


async def fetch(url: str) -> str:
    """Always fails."""
    raise RuntimeError(f"{url} does not answer")


async def echo(text: str) -> str:
    """Gives the text back after 50 ms."""
    await asyncio.sleep(0.05)
    return text


SERVERS = {
    "math": (add, multiply),
    "shop": (product, orders),
    "texts": (read,),
    "weather": (forecast,),
    "web": (fetch,),
    "slow": (echo,),
}
"""Each server's tools: plans call `tools.math.add(…)`, and `add(…)` too."""


def names_for_plans() -> dict[str, object]:
    """What a plan finds under names of its own: `tools`, each tool, and an empty `memory`."""
    servers = {
        server: SimpleNamespace(**{tool.__name__: tool for tool in offered})
        for server, offered in SERVERS.items()
    }
    bare = {tool.__name__: tool for offered in SERVERS.values() for tool in offered}
    return {"tools": SimpleNamespace(**servers), "memory": {}, **bare}
