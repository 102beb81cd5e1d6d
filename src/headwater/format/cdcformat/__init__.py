"""CDC Format 1.0: the event of an entity, with what changed, who did it and what follows from it.

- `json.CdcFormat` (`cdc-format`): one JSON object per event.
- `entities`: how tables become entities. `context`: who did it and why.
- `derive`: what follows from the rows: ids, tenants, soft deletes (`scalars`) and changed fields
  (`fields`), over whole columns (`members`, `images`, `groups`). `body`: the same as text.
- `cascade.Cascade`: what else a transaction changed (`families`), told with the event (`told`);
  `known`: foreign keys for executors. `selection`: which entities and operations are told.
- `reader`: records to the canonical event.
- `schema`: the published JSON Schema, `cdc-format-1.0.schema.json` in this package.

The format has no form for `truncate`, `schema_change` and `message`: they are refused, never
disguised. What else it has no field for stands in `metadata.custom_fields.headwater`.
"""
