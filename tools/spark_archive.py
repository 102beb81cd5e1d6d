"""An archive of the classes that Spark loads, made once per checkout; prints its path.

A JVM that is given it (`-XX:SharedArchiveFile` in JDK_JAVA_OPTIONS) starts Spark in two thirds of
the time. The JVM writes it as it ends, so this does a little of what the tests do and
lets it end.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from headwater.app.spark import spark_session

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"


def archive() -> Path:
    """Where the archive for the locked packages is, or will be."""
    locked = hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    return CACHE / f"spark-{locked[:12]}.jsa"


def merge(table: Path) -> None:
    """Let Spark make a Delta table and merge into it: that meets nearly all of the classes."""
    with spark_session() as spark:
        spark.range(9).write.format("delta").save(str(table))
        spark.sql(
            f"MERGE INTO delta.`{table}` AS old USING (SELECT id FROM range(5, 12)) AS new"
            " ON old.id = new.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        spark.read.format("delta").load(str(table)).collect()


def main() -> None:
    """Make the archive if it is not there."""
    wanted = archive()
    if not wanted.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            made = Path(folder) / "spark.jsa"
            options = os.environ.get("JDK_JAVA_OPTIONS", "")
            os.environ["JDK_JAVA_OPTIONS"] = f"{options} -XX:ArchiveClassesAtExit={made}"
            merge(Path(folder) / "table")
            made.rename(wanted)
    print(wanted)


if __name__ == "__main__":
    main()
