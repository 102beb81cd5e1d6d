"""Wire forms of the event: a room for each format, and all of them go through the canonical event.

- `headwater`: the canonical envelope in JSON, Avro and Protobuf.
- `typed`: the envelope in Avro with rows in the types of their tables.
- `registry`: any of them framed for a schema registry.
- `opencdc`, `cdcformat`, `debezium`, `cloudevents`: what other systems read and write.
- `stash`, `delta`: what a record says beyond the event, carried through other formats and back.
- `columns`, `blocks`: where decoded records become an EventBatch, with the checks all share.
- `text`, `octets`: records composed column by column. `jsontext`: JSON, exactly and bounded.
- `rows`: row images as values, keys, ids. `times`, `engine`: words that formats share.
- `grouped`: records of several kinds, each kind in one go.
- `library`: the error that names the package to install.

A format is one class with `encode` and `decode`. Its `_natural` records are a function of the event
alone, and have every field of the envelope: at home, or in a block under our prefix. Sequence
number, event id, schema id and context are no fields of the envelope: they stand at their defaults
after reading. Reading checks the bytes; the envelope's own rules are `headwater.event.validate`.

fastavro and protobuf are extras (`headwater[avro]`, `headwater[protobuf]`): only the modules that
own them import them, and importing this package imports neither. `app` gives the forms their names.

May import: contract, event, errors, secret.
"""
