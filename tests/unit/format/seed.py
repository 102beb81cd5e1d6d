"""The published envelope, written down a second time: what our bytes are checked against.

Nothing here is shared with the code under test. Twelve fields are the envelope as first published;
Protobuf numbers 13 and 14 came later.
"""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

AVRO: dict[str, Any] = json.loads("""
{"type": "record", "name": "Event", "namespace": "io.rustcdc", "fields": [
  {"name": "before", "type": ["null", "bytes"], "default": null},
  {"name": "after", "type": ["null", "bytes"], "default": null},
  {"name": "op", "type": {"type": "enum", "name": "Operation", "namespace": "io.rustcdc",
    "symbols": ["INSERT", "UPDATE", "DELETE", "READ", "SCHEMA_CHANGE", "TRUNCATE"]}},
  {"name": "source", "type": {"type": "record", "name": "SourceMetadata",
    "namespace": "io.rustcdc", "fields": [
      {"name": "source_name", "type": "string"},
      {"name": "offset", "type": "string"},
      {"name": "timestamp", "type": "long"}]}},
  {"name": "ts", "type": "long"},
  {"name": "schema", "type": ["null", "string"], "default": null},
  {"name": "table", "type": "string"},
  {"name": "primary_key", "type": {"type": "array", "items": "string"}, "default": []},
  {"name": "snapshot", "type": ["null", {"type": "record", "name": "SnapshotMetadata",
    "namespace": "io.rustcdc", "fields": [
      {"name": "snapshot_id", "type": "string"},
      {"name": "chunk_index", "type": "int"},
      {"name": "is_last_chunk", "type": "boolean"}]}], "default": null},
  {"name": "transaction", "type": ["null", {"type": "record", "name": "TransactionMetadata",
    "namespace": "io.rustcdc", "fields": [
      {"name": "tx_id", "type": "long"},
      {"name": "total_events", "type": "int"},
      {"name": "event_index", "type": "int"}]}], "default": null},
  {"name": "envelope_version", "type": "int", "default": 1},
  {"name": "before_is_key_only", "type": "boolean", "default": false}
]}
""")

_KINDS = {
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "uint64": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    "uint32": descriptor_pb2.FieldDescriptorProto.TYPE_UINT32,
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "Operation": descriptor_pb2.FieldDescriptorProto.TYPE_ENUM,
}
_MESSAGES = {
    "SourceMetadata": "string source_name=1; string offset=2; uint64 timestamp=3",
    "SnapshotMetadata": "string snapshot_id=1; uint32 chunk_index=2; bool is_last_chunk=3",
    "TransactionMetadata": "uint64 tx_id=1; uint32 total_events=2; uint32 event_index=3",
    "Event": (
        "optional bytes before=1; optional bytes after=2; Operation op=3; SourceMetadata source=4;"
        "uint64 ts=5; optional string schema=6; string table=7; repeated string primary_key=8;"
        "SnapshotMetadata snapshot=9; TransactionMetadata transaction=10;"
        "uint32 envelope_version=11; bool before_is_key_only=12;"
        "repeated string unavailable_columns=13; repeated string before_unavailable_columns=14"
    ),
}
_OPERATIONS = "OPERATION_UNSPECIFIED INSERT UPDATE DELETE READ SCHEMA_CHANGE TRUNCATE"


def protobuf_event() -> Any:
    """The message class of the table above, in a pool of its own."""
    file = descriptor_pb2.FileDescriptorProto(name="seed.proto", package="rustcdc", syntax="proto3")
    operation = file.enum_type.add(name="Operation")
    for number, name in enumerate(_OPERATIONS.split()):
        operation.value.add(name=name, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for line in fields.split(";"):
            _add_field(message, line.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("rustcdc.Event"))


def _add_field(message: descriptor_pb2.DescriptorProto, words: list[str]) -> None:
    *label, kind, assignment = words
    name, number = assignment.split("=")
    field = message.field.add(name=name, number=int(number))
    field.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    if label == ["repeated"]:
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    if label == ["optional"]:
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    field.type = _KINDS.get(kind, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE)
    if kind[0].isupper():
        field.type_name = f".rustcdc.{kind}"


JSON_PATHS = {field["name"] for field in AVRO["fields"]} | {
    "unavailable_columns",
    "before_unavailable_columns",
    "source.source_name",
    "source.offset",
    "source.timestamp",
    "snapshot.snapshot_id",
    "snapshot.chunk_index",
    "snapshot.is_last_chunk",
    "transaction.tx_id",
    "transaction.total_events",
    "transaction.event_index",
}
