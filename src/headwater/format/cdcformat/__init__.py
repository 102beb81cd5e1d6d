"""CDC Format 1.0: the event of an entity, with what changed, who did it and what follows from it.

- `json.CdcFormat` (`cdc-format`): one JSON object per event.
- `entities`: how tables become entities. `changes`: which fields changed. `context`: who and why.
- `reader`: records to the canonical event.
- `schema`: the published JSON Schema, `cdc-format-1.0.schema.json` in this package.

The format has no form for `truncate` and `schema_change`: they are refused, never disguised. What
else it has no field for stands in `metadata.custom_fields.headwater`.
"""
