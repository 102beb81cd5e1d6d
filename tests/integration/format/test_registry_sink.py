"""A pipeline whose sink stands behind a real registry: typed records, and a schema refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from headwater import formats
from headwater.app.config import parse_config
from headwater.app.pipeline import Pipeline
from headwater.errors import ConfigError
from headwater.event import Event
from headwater.sink import Framing
from tests.fix_registry import PASSWORD, USER, Door

CONFIG = """\
version: 1
name: shop
source: {url: "sqlite:///shop.db"}
log: {path: shop.hwlog}
sinks:
  - name: typed
    type: file
    path: typed.bin
    format: headwater-avro-typed
    tables: [orders]
    registry: {url: URL, user: USER, password: "${REGISTRY_PASSWORD}", topic: TOPIC}
"""


class Shop:
    def __init__(self, directory: Path, door: Door, topic: str) -> None:
        self.directory, self.door, self.topic = directory, door, topic

    def sql(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.directory / "shop.db")) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    def run(self) -> None:
        text = CONFIG.replace("URL", self.door.url).replace("TOPIC", self.topic)
        text = text.replace("user: USER", f"user: {USER}")
        file = self.directory / "shop.yaml"
        config = parse_config(text, file, {"REGISTRY_PASSWORD": PASSWORD})
        Pipeline(config).run(once=True)

    def written(self) -> list[Event]:
        data = (self.directory / "typed.bin").read_bytes()
        registry = formats.SchemaRegistry(self.door.url, user=USER, password=PASSWORD)
        records = list(Framing.LENGTH.unframe(data))
        return list(formats.decode(records, "headwater-avro-typed", registry=registry))


@pytest.fixture
def shop(tmp_path: Path, guarded_registry: Door, topic: str) -> Shop:
    return Shop(tmp_path, guarded_registry, topic)


def _rule(url: str, subject: str, rule: str) -> None:
    body = json.dumps({"compatibility": rule}).encode()
    request = Request(f"{url}/config/{subject}", body, method="PUT")
    request.add_header("Content-Type", "application/json")
    with urlopen(request):
        pass


def test_sink_stops_at_a_refused_schema_and_goes_on_when_the_rule_allows_it(
    shop: Shop, schema_registry: str
) -> None:
    shop.sql(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO orders VALUES (1, 'Ada')",
    )
    shop.run()
    assert [event.after for event in shop.written()] == [{"id": 1, "name": "Ada"}]
    _rule(schema_registry, f"{shop.topic}-value", "BACKWARD")
    shop.sql(
        "ALTER TABLE orders ADD COLUMN amount INTEGER NOT NULL DEFAULT 0",
        "INSERT INTO orders VALUES (2, 'Eve', 5)",
    )
    with pytest.raises(ConfigError) as caught:
        shop.run()
    assert caught.value.code == "registry-incompatible"
    assert all("amount" not in (event.after or {}) for event in shop.written())
    _rule(schema_registry, f"{shop.topic}-value", "NONE")
    shop.run()
    last = shop.written()[-1].after
    assert last == {"id": 2, "name": "Eve", "amount": 5}
