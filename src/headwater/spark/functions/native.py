"""The envelope in Avro by Spark's own `from_avro`: records to events without Python on the way.

The columns are those of `formats.decode` for every record that it takes. It refuses more: here a
datum must be whole, its version known and its images JSON objects; ranges of numbers, what a
message may hold, and the inside of `extra` are believed.

What another format said of an event follows its datum as one more string, and mostly nothing does.
So the schema has that string as its last field, and a zero byte is put behind every record: where
nothing follows, it reads as an empty string.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro

from headwater.errors import MachineError
from headwater.event import ENVELOPE_VERSION

_FAIL = {"mode": "FAILFAST"}
_NO_ID = "00000000-0000-0000-0000-000000000000"
_NOT_LOADED = "AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE"
_LINE_BREAKS = "\r\n"  # strict JSON has them between tokens only, and an image is one line


def decode_avro(
    records: DataFrame, schema: str, headers: Mapping[str, str] | None = None
) -> DataFrame:
    """The events of bare datums in `value`; `schema` is theirs as JSON, and `extra` behind it.

    `headers` names, by column, the header of each record that has what the envelope does not say.
    """
    datum = f.concat("value", f.lit(b"\0"))
    beside = [_header(name, column) for column, name in (headers or {}).items()]
    try:
        read = records.where("value IS NOT NULL").select(
            from_avro(datum, schema, _FAIL).alias("e"), *beside
        )
    except AnalysisException as exc:
        if exc.getCondition() != _NOT_LOADED:
            raise
        raise MachineError(
            "spark-avro-missing", "the session has no from_avro: Spark's jar for Avro is not loaded"
        ) from exc
    return read.select(*_columns(headers or {}))


def _header(name: str, column: str) -> Column:
    """The last header of that name, as text; a record without it is not one of ours."""
    same = f.filter("headers", lambda each: each["key"] == name)
    text = f.try_element_at(same, f.lit(-1))["value"].cast("string")
    if column != "context":  # most events have none
        text = f.coalesce(text, _bad(f.lit(f"no header {name}: Headwater did not write it")))
    return text.alias(column)


def _beside(column: str, absent: Column, headers: Mapping[str, str]) -> Column:
    kind = "string" if column in ("event_id", "context") else "bigint"
    return (f.col(column) if column in headers else absent).cast(kind).alias(column)


def _columns(headers: Mapping[str, str]) -> list[Column]:
    """The columns of SPARK_DDL. What the envelope does not say is 0, as other readers have it."""
    return [
        _beside("sequence_number", f.lit(0), headers),
        _beside("event_id", f.lit(_NO_ID), headers),
        _op(),
        f.col("e.schema"),
        f.col("e.table"),
        _names("primary_key"),
        _image("before"),
        _image("after"),
        f.timestamp_millis("e.ts").alias("ts"),
        _source(),
        _snapshot(),
        _transaction(),
        f.col("e.before_is_key_only"),
        _names("unavailable_columns"),
        _names("before_unavailable_columns"),
        _beside("schema_id", f.lit(0), headers),
        _beside("context", f.lit(None), headers),
        _extra(),
    ]


def _op() -> Column:
    """Every use of events asks for it, so a version that we do not know stops them here."""
    version = f.col("e.envelope_version")
    unknown = _bad(f.concat(f.lit("envelope_version is "), version.cast("string")))
    return f.when(version != ENVELOPE_VERSION, unknown).otherwise(f.lower("e.op")).alias("op")


def _image(name: str) -> Column:
    text = f.col(f"e.{name}").cast("string")
    damaged = text.isNotNull() & f.json_object_keys(text).isNull()
    bad = _bad(f.lit(f"{name} is not a JSON object"))
    return f.when(damaged, bad).otherwise(f.translate(text, _LINE_BREAKS, "")).alias(name)


def _extra() -> Column:
    text = f.col("e.extra")
    damaged = f.json_object_keys(text).isNull()
    told = f.when(damaged, _bad(f.lit("bytes follow the datum"))).otherwise(text)
    return f.when(text != "", told).alias("extra")


def _bad(reason: Column) -> Column:
    return f.raise_error(f.concat(f.lit("[format-bad-record] "), reason)).cast("string")


def _names(name: str) -> Column:
    """A list; an empty one says the same as none."""
    return f.when(f.size(f"e.{name}") > 0, f.col(f"e.{name}")).alias(name)


def _source() -> Column:
    at = f.timestamp_millis("e.source.timestamp").alias("timestamp")
    return f.struct("e.source.source_name", "e.source.offset", at).alias("source")


def _snapshot() -> Column:
    chunk = f.col("e.snapshot.chunk_index").cast("bigint").alias("chunk_index")
    block = f.struct("e.snapshot.snapshot_id", chunk, "e.snapshot.is_last_chunk")
    return f.when(f.col("e.snapshot").isNotNull(), block).alias("snapshot")


def _transaction() -> Column:
    total = f.expr("nullif(e.transaction.total_events, 0)").cast("bigint").alias("total_events")
    index = f.col("e.transaction.event_index").cast("bigint").alias("event_index")
    block = f.struct("e.transaction.tx_id", total, index)
    return f.when(f.col("e.transaction").isNotNull(), block).alias("transaction")
