"""Columns that are kept as their own text, cut out of images on the executors.

Spark's from_json reads a value into numbers and writes it anew, if a text is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql.pandas.functions import arrow_udf

from headwater.event import LogicalType
from headwater.event.verbatim import Verbatim
from headwater.spark.change.kinds import stored_type
from headwater.spark.sql import quoted


def kept_texts(
    image: SparkColumn, types: Mapping[str, LogicalType], *, forgiving: bool
) -> SparkColumn:
    """A structure of what is kept of an image; NULL in it is what the image has not."""

    def texts(images: pa.Array) -> pa.Array:
        found = Verbatim(types, forgiving=forgiving).columns(images.to_pylist())
        return pa.StructArray.from_arrays([*found.values()], names=[*found])

    fields = ", ".join(f"{quoted(name)}: {stored_type(each)}" for name, each in types.items())
    made: SparkColumn = arrow_udf(texts, f"struct<{fields}>")(image)  # type: ignore[call-overload]
    return made
