"""The built-in formats keep the promises of contract.Format."""

from __future__ import annotations

from headwater.contract import Format
from headwater.event import Operation
from headwater.format.cdcformat.json import CdcFormat
from headwater.format.cloudevents.json import CloudEventsFormat
from headwater.format.debezium.json import DebeziumFormat
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.protobuf import ProtobufFormat
from headwater.format.opencdc.json import OpenCdcFormat
from headwater.format.opencdc.protobuf import OpenCdcProtobufFormat
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


class TestOpenCdc(FormatConformance):
    def format(self) -> Format:
        return OpenCdcFormat()


class TestOpenCdcProtobuf(FormatConformance):
    def format(self) -> Format:
        return OpenCdcProtobufFormat()


class TestCdcFormat(FormatConformance):
    operations = (Operation.INSERT, Operation.UPDATE, Operation.DELETE, Operation.READ)

    def format(self) -> Format:
        return CdcFormat()


class TestDebezium(FormatConformance):
    def format(self) -> Format:
        return DebeziumFormat()


class TestDebeziumWithSchema(FormatConformance):
    def format(self) -> Format:
        return DebeziumFormat(schema=True)


class TestCloudEvents(FormatConformance):
    def format(self) -> Format:
        return CloudEventsFormat()
