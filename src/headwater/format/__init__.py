"""Wire forms of the event: each module is one form, and all of them carry the canonical envelope.

- `json.JsonFormat` (`headwater-json`): one JSON object per event, on one line.
- `avro.AvroFormat` (`headwater-avro`): a bare Avro datum; schemas in `avro_schema`.
- `protobuf.ProtobufFormat` (`headwater-protobuf`): a bare message of `proto/event.proto`.
- `columns`: where decoded records become an EventBatch, with the checks every form shares.
- `image`: row images, carried as the JSON text they are.
- `extra`: the error that names the package to install.

The envelope has no field for sequence_number, event_id, schema_id and context: they are not
written, and stand at their defaults after reading. An empty list of unavailable columns says the
same as none. Avro and Protobuf cannot tell an empty key list from no key, nor 0 total_events from
an unknown number; both read as "none". Reading checks the bytes; the envelope's own rules are
`headwater.event.validate`.

fastavro and protobuf are extras (`headwater[avro]`, `headwater[protobuf]`): only the module that
owns one imports it, and importing this package imports neither. `app` gives the forms their names.

May import: contract, event, errors.
"""
