# %% [markdown]
# # Every version of every row (SCD2)
#
# A shop keeps a row per customer, and forgets what it was. Here each version stays, with the
# time from when to when it held. Runs as a script, and cell by cell in an editor that knows `#
# %%`.

# %%
import sqlite3
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import headwater
from headwater.app.spark import TableJob
from headwater.spark.session import delta_conf

folder = Path(tempfile.mkdtemp(prefix="headwater-scd2-"))
spark = SparkSession.builder.master("local[2]").config(map=delta_conf()).getOrCreate()

# %% [markdown]
# ## A database, and what happens to it

# %%
database = sqlite3.connect(folder / "shop.db", isolation_level=None)
database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, tier TEXT)")
database.execute("INSERT INTO customers VALUES (1, 'Ada', 'bronze'), (2, 'Bo', 'gold')")


def capture() -> None:
    """Bring the log to where the database is. A pipeline does this all the time."""
    url = f"sqlite:///{folder}/shop.db"
    with headwater.capture(url, log=folder / "shop.hwlog", until="head") as changes:
        for batch in changes:
            batch.ack()


capture()

# %% [markdown]
# ## The tables
#
# `modes` says what is kept of which tables. A mirror beside the history costs little.

# %%
job = TableJob(
    folder / "shop.hwlog",
    target=str(folder / "lake"),
    modes={"mirror": ["*"], "scd2": ["customers"]},
)
job.run_once(spark)

# %%
database.execute("UPDATE customers SET tier = 'silver' WHERE id = 1")
database.execute("UPDATE customers SET tier = 'gold' WHERE id = 1")
database.execute("DELETE FROM customers WHERE id = 2")
capture()
job.run_once(spark)

# %% [markdown]
# ## Reading it
#
# Two changes that one batch brought are two versions. A deleted row has an end, and no
# successor.

# %%
versions = spark.read.format("delta").load(f"{folder}/lake/customers@scd2")
versions.createOrReplaceTempView("customer_versions")
spark.sql(
    """SELECT id, name, tier, _headwater_valid_from AS since, _headwater_valid_to AS until
    FROM customer_versions ORDER BY id, _headwater_sequence"""
).show(truncate=False)

# %% [markdown]
# What is now: the same rows as the mirror has.

# %%
current = spark.sql("SELECT id, name, tier FROM customer_versions WHERE _headwater_current")
mirror = spark.read.format("delta").load(f"{folder}/lake/customers").select("id", "name", "tier")
assert sorted(current.collect()) == sorted(mirror.collect()) == [(1, "Ada", "gold")]

# %% [markdown]
# What was after an event. Times may tie and run back, so what orders versions is the sequence
# number; with a time it is the same with `_headwater_valid_from` and `_headwater_valid_to`.


# %%
def as_it_was(sequence: int) -> list[tuple[str, str]]:
    """Names and tiers after an event."""
    rows = versions.where(
        f"_headwater_sequence <= {sequence}"
        f" AND (_headwater_to_sequence IS NULL OR _headwater_to_sequence > {sequence})"
    )
    return [(row["name"], row["tier"]) for row in rows.orderBy("id").collect()]


first, second = as_it_was(2), as_it_was(3)
assert first == [("Ada", "bronze"), ("Bo", "gold")]
assert second == [("Ada", "silver"), ("Bo", "gold")]
print(first, second, sep="\n")
