"""A table that Spark keeps by Auto CDC from the changes in a log of Headwater."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from headwater.pipelines import auto_cdc_source

LOG = os.environ["HEADWATER_LOG"]


@dp.temporary_view
def customer_changes() -> DataFrame:
    reader = SparkSession.active().readStream.format("headwater")
    events = reader.option("startingSequence", "earliest").load(LOG)
    return auto_cdc_source(events, "customers", log=LOG)


# `lake` is a catalog whose tables support MERGE of Spark's own; see README.md.
dp.create_streaming_table("lake.shop.customers")
dp.create_auto_cdc_flow(
    target="lake.shop.customers",
    source="customer_changes",
    keys=["id"],
    sequence_by="_headwater_sequence",
    apply_as_deletes="_headwater_deleted",
    except_column_list=["_headwater_sequence", "_headwater_deleted"],
)
