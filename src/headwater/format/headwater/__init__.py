"""The canonical envelope in its three forms, byte-compatible with its first producer.

- `json.JsonFormat` (`headwater-json`): one JSON object per event, on one line.
- `avro.AvroFormat` (`headwater-avro`): a bare Avro datum; schemas in `avro_schema`.
- `protobuf.ProtobufFormat` (`headwater-protobuf`): a bare message of `proto/event.proto`.
- `avro_writer`, `protobuf_writer`: both composed column by column, as the libraries write them.
- `key`: the event's key in the three forms. `image`: row images, carried as the text they are.

An empty list says the same as none, and 0 total_events that the number is not known; Avro and
Protobuf have only one of each.
"""
