"""The built-in formats keep the promises of contract.Format."""

from __future__ import annotations

from headwater.contract import Format
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.protobuf import ProtobufFormat
from headwater.testing.conformance.format import FormatConformance


class TestJson(FormatConformance):
    def format(self) -> Format:
        return JsonFormat()


class TestAvro(FormatConformance):
    def format(self) -> Format:
        return AvroFormat()


class TestProtobuf(FormatConformance):
    def format(self) -> Format:
        return ProtobufFormat()
