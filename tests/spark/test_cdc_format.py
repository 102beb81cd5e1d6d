"""CDC Format 1.0 on executors: the same objects, pickled, give the same bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headwater.event import Event, EventBatch
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.format.cdcformat.json import CdcFormat
from headwater.format.cdcformat.known import KnownSchemas
from tests.unit.format.cdc_tables import HISTORY, POST, USER, batch, changed, removed

pytestmark = pytest.mark.spark

ENTITIES = EntityMap({"user": Entity(type="Person", tenant="org_id", invalidates=("people",))})


def transaction(user: int) -> list[Event]:
    row = {"id": user, "name": "ä", "org_id": 8}
    return [
        changed(USER, row, row | {"name": "b"}),
        removed(USER, row),
        *(removed(POST, {"id": user * 10 + n, "user_id": user}) for n in range(3)),
    ]


@pytest.mark.parametrize("granularity", ["row", "atomic"])
def test_records_are_the_same_when_executors_write_them(
    spark: SparkSession, granularity: Any
) -> None:
    events = batch(*(transaction(user) for user in range(1, 40)))
    cascade = Cascade(history=KnownSchemas.of(HISTORY), entities=ENTITIES, granularity=granularity)
    form = CdcFormat(entities=ENTITIES, granularity=granularity)

    def encode(stored: bytes) -> list[bytes]:
        (records,) = pa.ipc.open_stream(stored)
        return list(form.encode(cascade(EventBatch(records))))

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, events.records.schema) as stream:
        stream.write_batch(events.records)
    pieces = spark.sparkContext.parallelize([sink.getvalue().to_pybytes()])
    assert pieces.flatMap(encode).collect() == form.encode(cascade(events))
