"""The canonical envelope in its three forms, byte-compatible with its first producer.

- `json.JsonFormat` (`headwater-json`): one JSON object per event, on one line.
- `avro.AvroFormat` (`headwater-avro`): a bare Avro datum; schemas in `avro_schema`.
- `protobuf.ProtobufFormat` (`headwater-protobuf`): a bare message of `proto/event.proto`.
"""
