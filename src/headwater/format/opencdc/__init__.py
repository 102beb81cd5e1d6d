"""OpenCDC, version 1: the record that Conduit and its connectors exchange.

- `json.OpenCdcFormat` (`opencdc`): one JSON object per event.
- `protobuf.OpenCdcProtobufFormat` (`opencdc-protobuf`): the same record as a message of
  `proto/opencdc.proto`.
- `reader`: records to the canonical event. `metadata`: the standard keys.

Position is the event's offset. Rows are structured data, key too. What an OpenCDC record has no
field for stands in metadata under `headwater.`, one readable key each.
"""
