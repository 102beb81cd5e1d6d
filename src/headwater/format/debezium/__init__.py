"""Debezium's change events, as its JSON converter writes them.

- `json.DebeziumFormat` (`debezium`, and `debezium-schema` with Connect's schema around it).
- `source`: the source block of each connector. `image`: rows with values that were not sent.
- `connect`: Connect schemas of JSON values. `reader`: records to the canonical event.

A change is `c u d r t`; a schema change is Debezium's schema change record; a logical message is
`m`, with a block `message` instead of rows. The record's key is a message of its own there, and so
is the tombstone after a delete: `messages` gives both. What Debezium has no field for stands in the
member `headwater`, one string.
"""
