# %% [markdown]
# # Backfill a table
#
# Somebody has deleted rows of a Delta table by hand. The source still has them, and nothing
# there has changed, so no event will bring them back. A backfill reads them once more, beside
# the stream.
#
# Reading rows beside the stream is what PostgreSQL can. `DATABASE_URL` is the URL of the
# capturing role, and `HEADWATER_TABLE` a table with a primary key. Runs as a script, and cell by
# cell in an editor that knows `# %%`.

# %%
import os
import time
from contextlib import closing
from pathlib import Path

from pyspark.sql import SparkSession

import headwater
from headwater.app.spark import TableJob
from headwater.event import TableId
from headwater.spark.session import delta_conf
from headwater.spark.table.path import table_path

if "DATABASE_URL" not in os.environ:
    raise SystemExit("set DATABASE_URL, such as postgresql://capture:PASSWORD@127.0.0.1/crm")

table = TableId(*os.environ.get("HEADWATER_TABLE", "public.customers").split("."))
folder = Path(os.environ.get("HEADWATER_FOLDER", "headwater-backfill")).resolve()
folder.mkdir(parents=True, exist_ok=True)
log = headwater.SqliteLog(folder / "crm.hwlog")
spark = SparkSession.builder.master("local[2]").config(map=delta_conf()).getOrCreate()

# %% [markdown]
# ## A table that equals its source

# %%
options = headwater.CaptureOptions(slot=os.environ.get("HEADWATER_SLOT"))


def capture() -> headwater.Capture:
    """The database into the log."""
    return headwater.capture(
        os.environ["DATABASE_URL"], log=log.path, until="head", options=options
    )


with capture() as changes:
    for batch in changes:
        batch.ack()

job = TableJob(log.path, target=str(folder / "lake"))
job.run_once(spark)
place = table_path(str(folder / "lake"), table)
before = spark.read.format("delta").load(place).count()

# %% [markdown]
# ## Rows are lost, on the side of the lake

# %%
spark.sql(f"DELETE FROM delta.`{place}`")
assert spark.read.format("delta").load(place).count() == 0

# %% [markdown]
# ## Read them once more
#
# With a pipeline it is `headwater backfill start crm.yaml customers --wait`; `--where` asks for
# some of the rows. The stream goes on meanwhile: a row that changes while it is read has its
# newest value.

# %%
with capture() as changes:
    number = changes.backfill(str(table))
    while True:
        with closing(log.commands()) as commands:
            asked = [each for each in commands.reported() if each.command == number]
        if asked and all(each.state.ended for each in asked):
            break
        time.sleep(0.2)
    print(f"read {sum(each.rows_done for each in asked):,} rows once more")

print("applied up to event", job.run_once(spark))
after = spark.read.format("delta").load(place).count()
assert after == before
print(f"{after:,} rows are back")
