"""Typed rows in Avro: a record schema for each table, where the envelope has JSON bytes.

- `avro.TypedAvroFormat` (`headwater-avro-typed`): the envelope with rows of the table's own record.
- `schema`: a table's Avro schema, and the table read back from such a schema.
- `values`: how each logical type stands in Avro. `names`: names that Avro allows.
- `rows`: row images to Avro rows and back, column by column.

A partial row is another record than a whole one, in fields of its own (INV-10).
"""
