"""Records that name their schema by its id in a registry, framed as Confluent's serializers do.

- `registered.RegisteredFormat`: any described format with the registry's frame around its records.
- `described`: which schema the records of each format have. `protofile`: messages of a .proto text.
- `client.SchemaRegistry`: registers schemas and looks them up, over HTTP; every answer is kept.
- `http.Connection`: one request: authentication, time limit, and what each refusal means.
- `subject`: under which subject a schema is registered. `frame`: the bytes before a record.

Holds: INV-12 (no user's password reaches an error or a log).
"""
