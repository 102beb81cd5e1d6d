"""Formats by name: the public functions, and every one of them in a file sink."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater
from headwater import formats
from headwater.app.config import SinkSettings
from headwater.app.registry import make_sink
from headwater.errors import ConfigError, DataError
from headwater.sink import Framing
from headwater.testing.builders import ITEMS, inserts
from headwater.testing.conformance.format import envelope
from tests.unit.format.typed_tables import History


def test_names_are_the_documented_ones() -> None:
    assert formats.names() == (
        "cdc-format", "cloudevents", "debezium", "debezium-schema", "headwater-avro",
        "headwater-avro-typed", "headwater-json", "headwater-protobuf", "opencdc",
        "opencdc-protobuf",
    )  # fmt: skip
    assert [formats.get(name).name for name in formats.names()] == list(formats.names())
    assert headwater.formats is formats


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        formats.encode(inserts(1, 1), "opencd")
    assert caught.value.code == "format-unknown"
    assert "opencdc" in caught.value.hint


@pytest.mark.parametrize("name", formats.names())
def test_file_sink_writes_the_format_when_it_is_named(name: str, tmp_path: Path) -> None:
    batch = inserts(1, 5, tx_id=3).with_sequence(1)
    path = tmp_path / "out"
    schemas = History((ITEMS,))
    sink = make_sink(SinkSettings(name="out", type="file", path=path, format=name), "", schemas)
    sink.open()
    sink.write(batch)
    sink.flush()
    sink.close()
    binary = "avro" in name or "protobuf" in name
    framing = Framing.LENGTH if binary else Framing.LINES
    records = list(framing.unframe(path.read_bytes()))
    assert records == list(formats.encode(batch, name, schemas=schemas))
    assert envelope(formats.decode(records, name, schemas=schemas)) == envelope(batch)


def test_time_before_1970_is_refused_when_the_carrier_has_no_sign() -> None:
    cdc = formats.encode(inserts(1, 1), "cdc-format")[0].replace(b"2023-11-14T", b"1923-11-14T")
    events = formats.decode([cdc], "cdc-format")
    with pytest.raises(DataError, match="source_ts_ms") as caught:
        formats.encode(events, "headwater-protobuf")
    assert caught.value.code == "format-unwritable"
