# %% [markdown]
# # Mirror PostgreSQL into Delta
#
# Every committed change of a PostgreSQL database, in order and without loss, into Delta tables
# that equal it. Run all cells again after you have changed rows: they take what is new.
#
# `DATABASE_URL` is the URL of the capturing role. `headwater setup postgres OWNER_URL --role
# capture` gives it what it needs, once; docs/guide/mirror-postgres.md has the steps. Runs as a
# script, and cell by cell in an editor that knows `# %%`.

# %%
import os
from pathlib import Path

from pyspark.sql import SparkSession

import headwater
from headwater.app.spark import TableJob, as_of
from headwater.spark.session import delta_conf

if "DATABASE_URL" not in os.environ:
    raise SystemExit("set DATABASE_URL, such as postgresql://capture:PASSWORD@127.0.0.1/crm")

folder = Path(os.environ.get("HEADWATER_FOLDER", "headwater-mirror")).resolve()
folder.mkdir(parents=True, exist_ok=True)
spark = SparkSession.builder.master("local[2]").config(map=delta_conf()).getOrCreate()

# %% [markdown]
# ## Capture
#
# The first time the rows that exist are read, beside the stream; later only what has changed.
# The server keeps what is not captured yet in a replication slot, and is told when the log has
# it. Drop the slot when you are done for good: `headwater slots drop`.

# %%
options = headwater.CaptureOptions(slot=os.environ.get("HEADWATER_SLOT"))
with headwater.capture(
    os.environ["DATABASE_URL"], log=folder / "crm.hwlog", until="head", options=options
) as changes:
    for batch in changes:
        print(f"captured {len(batch):,} events")
        batch.ack()

# %% [markdown]
# ## Apply
#
# One Delta table per source table, below the target. Each commit carries its position, so
# running this twice, or being killed in the middle, changes nothing about the result.

# %%
job = TableJob(folder / "crm.hwlog", target=str(folder / "lake"))
print("applied up to event", job.run_once(spark))

# %% [markdown]
# ## Read
#
# All tables at one position of the source: a transaction is in all of them or in none.

# %%
newest = as_of(spark, folder / "lake")
for each in newest.tables:
    print(f"{each.table}: {newest.frame(each.table).count():,} rows at event {newest.sequence:,}")

# %% [markdown]
# A pipeline does the same all the time, with metrics, checks and `headwater verify`, which
# compares every row: docs/guide/mirror-postgres.md.
