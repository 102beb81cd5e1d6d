"""Our Avro by Spark's own functions: the same columns and the same bytes, as far as they go."""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro, to_avro

from headwater.event import ENVELOPE_VERSION, TableSchema
from headwater.format.cdcformat.known import KnownSchemas
from headwater.format.headwater.avro_schema import EVENT_WITH_MESSAGES, with_messages
from headwater.format.typed.schema import typed_schemas
from headwater.spark.functions.typed import typed
from headwater.spark.sql import quoted

NO_ID = "00000000-0000-0000-0000-000000000000"
_ENVELOPE = json.dumps(EVENT_WITH_MESSAGES)
_FAIL = {"mode": "FAILFAST"}
_HEAD_BYTES = 8
_SIDES = ("before", "after")


def decode_typed(records: DataFrame, table: TableSchema) -> DataFrame:
    """Events of one version of a table in `headwater-avro-typed`, with typed images."""
    schema = json.dumps(with_messages(typed_schemas(table).event))
    datum = f.expr(f"substring(value, {_HEAD_BYTES + 1})")
    event = records.select(from_avro(datum, schema, _FAIL).alias("e"))
    images = {side: f.coalesce(f"e.{side}", f"e.{side}_part") for side in _SIDES}
    return event.select(*_columns(images))


def encode(events: DataFrame) -> DataFrame:
    """The values of `headwater-avro`."""
    images = [f.col(side).cast("binary").alias(side) for side in _SIDES]
    datum = to_avro(f.struct(*images, *_members()), _ENVELOPE)
    extra = f.coalesce(to_avro("extra", '"string"'), f.lit(b""))
    return events.select(f.concat(datum, extra).alias("value"))


def encode_typed(events: DataFrame, table: TableSchema) -> DataFrame:
    """The values of `headwater-avro-typed` of events of one version of a table."""
    names = {f"{side}_columns": f.json_object_keys(side) for side in _SIDES}
    history = KnownSchemas({table.schema_id: (1, table)})
    rows = typed(events.withColumns(names), table, history)
    whole = {side: f.size(f"{side}_columns") == len(table.columns) for side in _SIDES}
    nothing = f.array().cast("array<string>")
    image = [
        *(f.when(whole[side], f.col(side)).alias(side) for side in _SIDES),
        *(f.when(~whole[side], f.col(side)).alias(f"{side}_part") for side in _SIDES),
        *(
            f.when(whole[side], nothing)
            .otherwise(f.coalesce(f"{side}_columns", nothing))
            .alias(f"{side}_columns")
            for side in _SIDES
        ),
        *(f.lit(None).cast("string").alias(f"{side}_json") for side in _SIDES),
    ]
    schema = json.dumps(with_messages(typed_schemas(table).event))
    datum = to_avro(f.struct(*image, *_members(), "extra"), schema)
    head = table.schema_id.to_bytes(_HEAD_BYTES, "big")
    return rows.select(f.concat(f.lit(head), datum).alias("value"))


def _columns(images: dict[str, Column]) -> list[Column]:
    """The columns that `format("headwater")` has; the envelope knows nothing of four of them."""
    total = f.expr("nullif(e.transaction.total_events, 0)").cast("bigint")
    return [
        f.lit(0).cast("bigint").alias("sequence_number"),
        f.lit(NO_ID).alias("event_id"),
        f.lower("e.op").alias("op"),
        f.col("e.schema"),
        f.col("e.table"),
        _names("primary_key"),
        *(images[side].alias(side) for side in _SIDES),
        f.timestamp_millis("e.ts").alias("ts"),
        f.struct(
            "e.source.source_name",
            "e.source.offset",
            f.timestamp_millis("e.source.timestamp").alias("timestamp"),
        ).alias("source"),
        _block("snapshot", "snapshot_id", ("chunk_index", None), "is_last_chunk"),
        _block("transaction", "tx_id", ("total_events", total), ("event_index", None)),
        f.col("e.before_is_key_only"),
        _names("unavailable_columns"),
        _names("before_unavailable_columns"),
        f.lit(0).cast("bigint").alias("schema_id"),
        f.lit(None).cast("string").alias("context"),
        f.lit(None).cast("string").alias("extra"),
    ]


def _names(name: str) -> Column:
    """A list, or nothing where it is empty."""
    return f.when(f.size(f"e.{name}") > 0, f.col(f"e.{name}")).alias(name)


def _block(name: str, *parts: str | tuple[str, Column | None]) -> Column:
    """A struct that may not be there, with its ints as longs."""
    fields = []
    for part in parts:
        if isinstance(part, str):
            fields.append(f.col(f"e.{name}.{part}"))
        else:
            field, value = part
            value = f.col(f"e.{name}.{field}").cast("bigint") if value is None else value
            fields.append(value.alias(field))
    return f.when(f.col(f"e.{name}").isNotNull(), f.struct(*fields)).alias(name)


def _members() -> list[Column]:
    """The envelope's members behind the images."""
    nothing = f.array().cast("array<string>")
    snapshot = f.struct(
        "snapshot.snapshot_id",
        f.col("snapshot.chunk_index").cast("int").alias("chunk_index"),
        "snapshot.is_last_chunk",
    )
    transaction = f.struct(
        "transaction.tx_id",
        f.coalesce("transaction.total_events", f.lit(0)).cast("int").alias("total_events"),
        f.col("transaction.event_index").cast("int").alias("event_index"),
    )
    return [
        f.upper("op").alias("op"),
        f.struct(
            "source.source_name",
            "source.offset",
            f.unix_millis("source.timestamp").alias("timestamp"),
        ).alias("source"),
        f.unix_millis("ts").alias("ts"),
        f.col(quoted("schema")),
        f.col(quoted("table")),
        f.coalesce("primary_key", nothing).alias("primary_key"),
        f.when(f.col("snapshot").isNotNull(), snapshot).alias("snapshot"),
        f.when(f.col("transaction").isNotNull(), transaction).alias("transaction"),
        f.lit(ENVELOPE_VERSION).alias("envelope_version"),
        f.col("before_is_key_only"),
        f.coalesce("unavailable_columns", nothing).alias("unavailable_columns"),
        f.coalesce("before_unavailable_columns", nothing).alias("before_unavailable_columns"),
    ]
