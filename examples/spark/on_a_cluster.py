# %% [markdown]
# # Keep tables on a cluster
#
# The session is the cluster's: it comes from `spark-submit`, or is there before the notebook, and
# has Delta's jars and settings. Two ways lead to tables: from the log, where every executor reaches
# its file, and from a topic of Kafka, which needs no file. Two executors on one machine run it by
#
#     JOB=../on_a_cluster.py examples/spark/cluster/submit.sh

# %%
import os
import sqlite3
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import headwater
from headwater.app.spark import KafkaJob, TableJob, Topic, register, write_kafka

# Driver and executors reach it under this path.
folder = Path(os.environ.get("HEADWATER_FOLDER") or tempfile.mkdtemp(prefix="headwater-cluster-"))
log, lake = folder / "shop.hwlog", f"{folder}/lake"
spark = SparkSession.builder.getOrCreate()
register(spark)

# %% [markdown]
# ## A database, and its log
#
# Capture is a process of its own, `headwater run`, where the database is. Here it is a function.

# %%
database = sqlite3.connect(folder / "shop.db", isolation_level=None)
database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
database.executemany(
    "INSERT INTO customers VALUES (?, ?)", [(number, f"name {number}") for number in range(1000)]
)


def capture() -> None:
    """Bring the log to where the database is."""
    url = f"sqlite:///{folder}/shop.db"
    with headwater.capture(url, log=log, until="head") as changes:
        for batch in changes:
            batch.ack()


capture()

# %% [markdown]
# ## Do executors have what they need?
#
# They read events with this package and from this file. One that lacks the package says `No module
# named 'headwater'`, one that does not reach the file names it.

# %%
events = spark.read.format("headwater").option("partitions", 4).load(str(log))
events.groupBy("table", "op").count().show()

# %% [markdown]
# ## From the log
#
# `run_once` takes what there is; `start` goes on with what comes, until somebody stops it.

# %%
job = TableJob(log, target=lake, interval_s=1.0)
job.run_once(spark)


# %%
def kept(target: str) -> list[tuple[int, str]]:
    """The rows that stand in the table now."""
    rows = spark.read.format("delta").load(f"{target}/customers").select("id", "name")
    return sorted((row["id"], row["name"]) for row in rows.collect())


stream = job.start(spark)
database.execute("UPDATE customers SET name = 'new' WHERE id < 10")
database.execute("DELETE FROM customers WHERE id >= 990")
capture()
stream.drain()
stream.stop()
assert kept(lake) == database.execute("SELECT id, name FROM customers ORDER BY id").fetchall()

# %% [markdown]
# ## From a topic
#
# Where executors are on several machines, one local session writes the log to a topic of one
# partition, and the cluster keeps tables from that. It needs Kafka's connector in the session.

# %%
if "HEADWATER_KAFKA" in os.environ:
    topic = Topic(os.environ["HEADWATER_KAFKA"], os.environ.get("HEADWATER_TOPIC", "shop"))
    told = spark.readStream.format("headwater").load(str(log))
    write_kafka(told, topic, log=log, checkpoint=f"{folder}/to-kafka").awaitTermination()
    KafkaJob(topic, target=f"{folder}/lake-of-topic").run_once(spark)
    assert kept(f"{folder}/lake-of-topic") == kept(lake)

print(f"{len(kept(lake))} rows, as in the database")

# %% [markdown]
# A script ends its session. A notebook leaves it to who opened it.

# %%
if __name__ == "__main__" and "__file__" in globals():
    spark.stop()
