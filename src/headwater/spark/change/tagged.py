"""Text in columns of bytes: SQLite lets it stand there, and an image tells it by a tagged object.

A table keeps its UTF-8 bytes. Spark's from_json reads no column as either of two kinds, and asked
for a text it gives one of a number as well. So the few images that have a tag are read apart, with
such columns as VARIANT, which remembers what a value was.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event.value import TEXT_TAG

_TAGGED = f'{{"{TEXT_TAG}":'


def has_tag(image: SparkColumn) -> SparkColumn:
    """Whether an image may have such an object; inside of a text the quotes would be escaped."""
    return f.contains(image, f.lit(f'"{TEXT_TAG}"'))


def bytes_of(value: SparkColumn, options: Mapping[str, str]) -> SparkColumn:
    """The bytes that a VARIANT is or tells, read by from_json with these options."""
    own = f.to_json(value)
    text = f.from_json(own, f"`{TEXT_TAG}` string", dict(options)).getField(TEXT_TAG)
    member = f.concat(f.lit('{"_":'), own, f.lit("}"))
    plain = f.from_json(member, "`_` binary", dict(options)).getField("_")
    return f.when(own.startswith(_TAGGED), f.encode(text, "UTF-8")).otherwise(plain)
