"""Typed rows in Avro: a record schema for each table, where the envelope has JSON bytes.

- `avro.TypedAvroFormat` (`headwater-avro-typed`): the envelope with rows of the table's own record.
- `schema`: a table's Avro schema, and the table read back from such a schema.
- `table`: the events of one table as datums. `envelope`: their members beside the rows.
- `rows`: row images to Avro rows and back, column by column. `pack`: Avro's bytes of a column.
- `values`: how each logical type stands in Avro. `names`: names that Avro allows.

Writing composes columns; reading is fastavro's. A partial row is another record than a whole one,
in fields of its own (INV-10).
"""
