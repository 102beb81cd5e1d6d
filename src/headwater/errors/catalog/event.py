"""Events, values and positions."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "event-invalid",
        "An event breaks a rule of the envelope, for example an insert that has a before image.",
        "The source that produced it is at fault; report the event shown. Nothing was written.",
    ),
    (
        "event-schema",
        "A record batch does not have the columns of the event schema, or has another version.",
        "Build batches with EventBatch.from_columns, or upgrade the older side.",
    ),
    (
        "value-unencodable",
        "A database value has no canonical text form.",
        "Exclude the column, or cast it in the database to a type listed in docs/guide/values.md.",
    ),
    (
        "value-mistyped",
        "A stored value does not have the type that the schema history gives its column.",
        "Correct it at the source. Spark tables go on with spark.schema.mistyped_as_null: [TABLE]",
    ),
    (
        "position-invalid",
        "A stored source position is not a JSON object of primitive values.",
        "The log was written by something else; start from a copy or repair the log.",
    ),
)
