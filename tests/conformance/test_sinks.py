"""Every sink keeps the promises of contract.Sink."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from headwater.contract import Sink
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.protobuf import ProtobufFormat
from headwater.sink import FileSink, Framing, StreamSink
from headwater.testing.conformance.sink import SinkConformance
from headwater.testing.scripted import MemorySink


class TestJsonLinesFile(SinkConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "events.jsonl"

    def make(self) -> Sink:
        return FileSink(self.path, JsonFormat())

    def stored(self) -> list[int]:
        records = Framing.LINES.unframe(self.path.read_bytes())
        return [json.loads(record)["after"]["id"] for record in records]


class TestLengthPrefixedFile(SinkConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "events.bin"

    def make(self) -> Sink:
        return FileSink(self.path, ProtobufFormat(), framing=Framing.LENGTH)

    def stored(self) -> list[int]:
        records = list(Framing.LENGTH.unframe(self.path.read_bytes()))
        events = ProtobufFormat().decode(records)
        return [(event.after or {})["id"] for event in events]


class TestStream(SinkConformance):
    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.stream = io.BytesIO()

    def make(self) -> Sink:
        return StreamSink(JsonFormat(), self.stream)

    def stored(self) -> list[int]:
        records = Framing.LINES.unframe(self.stream.getvalue())
        return [json.loads(record)["after"]["id"] for record in records]


class TestMemorySink(SinkConformance):
    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.sink = MemorySink()

    def make(self) -> Sink:
        return self.sink

    def stored(self) -> list[int]:
        return self.sink.sequences()
