# %% [markdown]
# # Recover a broken checkpoint
#
# Spark keeps its place in small files. Tables know theirs too, so a checkpoint that is lost or
# damaged is made anew from them, without a new snapshot. Runs as a script, and cell by cell in
# an editor that knows `# %%`.

# %%
import sqlite3
import tempfile
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headwater
from headwater.app.demo.shop import create_shop
from headwater.app.spark import TableJob
from headwater.app.spark.checkpoint import rebuild, survey
from headwater.spark.session import delta_conf

folder = Path(tempfile.mkdtemp(prefix="headwater-recover-"))
spark = SparkSession.builder.master("local[2]").config(map=delta_conf()).getOrCreate()

# %% [markdown]
# ## Tables that follow a shop

# %%
create_shop(folder / "shop.db", customers=5)


def capture() -> None:
    """Bring the log to where the database is. A pipeline does this all the time."""
    url = f"sqlite:///{folder}/shop.db"
    with headwater.capture(url, log=folder / "shop.hwlog", until="head") as changes:
        for batch in changes:
            batch.ack()


capture()
job = TableJob(folder / "shop.hwlog", target=str(folder / "lake"))
job.run_once(spark)

# %% [markdown]
# ## The disk was full, and the newest file is cut off
#
# Meanwhile the shop goes on. The stream does not start any more.

# %%
offsets = folder / "lake" / "_headwater" / "checkpoint-spark" / "offsets"
newest = max((file for file in offsets.iterdir() if file.name.isdigit()), key=lambda f: int(f.name))
newest.write_bytes(newest.read_bytes()[:30])

database = sqlite3.connect(folder / "shop.db", isolation_level=None)
database.execute("UPDATE customers SET tier = 'gold' WHERE id = 1")
capture()
try:
    job.run_once(spark)
except PySparkException as exc:
    print("as expected:", str(exc).splitlines()[0])
else:
    raise SystemExit("the stream started on a broken checkpoint")

# %% [markdown]
# ## Look
#
# `headwater spark checkpoint inspect shop.yaml` shows the same.

# %%
seen = survey(spark, job)
for fault in seen.faults():
    print(fault)
for place in seen.places:
    print(f"{place.table}: has everything up to event {place.complete}")

# %% [markdown]
# ## Rebuild, and go on
#
# `headwater spark checkpoint rebuild shop.yaml --yes`. The old folder is moved aside, never
# deleted.

# %%
done = rebuild(spark, job, really=True)
print("goes on after event", done["begins_after"], "and the old checkpoint is", done["moved_to"])
print("applied up to", job.run_once(spark))

# %% [markdown]
# ## The tables equal the source

# %%
for table in ("customers", "products", "orders", "order_items"):
    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    kept = spark.read.format("delta").load(f"{folder}/lake/{table}")
    wanted = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    assert kept.count() == wanted, table
assert survey(spark, job).faults() == []
tiers = spark.read.format("delta").load(f"{folder}/lake/customers").where("id = 1").select("tier")
assert [row["tier"] for row in tiers.collect()] == ["gold"]
print("every table is whole again")
