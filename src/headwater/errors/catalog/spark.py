"""Spark and its tables."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "spark-missing",
        "PySpark is not installed.",
        "pip install 'headwater[spark]'",
    ),
    (
        "spark-java",
        "No usable Java was found.",
        "Install Java 17 and set JAVA_HOME.",
    ),
    (
        "spark-table-busy",
        "A target table changes faster than it can be read.",
        "Try again, or stop the pipeline for the comparison.",
    ),
    (
        "spark-jars",
        "Spark's table-format jars could not be fetched.",
        "Connect to Maven Central once, or use --table-format parquet, which needs no jar.",
    ),
    (
        "spark-no-build",
        "The table format has no build for the installed Spark.",
        "Install the Spark that the message names, or choose another spark.table_format.",
    ),
    (
        "spark-option",
        'An option of format("headwater") is missing or has a wrong value.',
        "Give at least the path: spark.read.format('headwater').load('shop.hwlog')",
    ),
    (
        "spark-other-log",
        "Spark's checkpoint was made with another log.",
        "Point to the log that it was made with, or use a new checkpoint folder.",
    ),
    (
        "spark-no-key",
        "A table without a primary key cannot be mirrored row by row.",
        "Give it a primary key, name it in spark.modes.append_log, or not in spark.tables.",
    ),
    (
        "spark-mode",
        "A mode of keeping tables does not exist, or the table format does not have it.",
        "Choose mirror, soft_delete, scd2 or append_log, on Delta tables.",
    ),
    (
        "spark-type-changed",
        "A column has another type at the source than in the mirrored table.",
        "Run the statement shown, or mirror into a new table.",
    ),
    (
        "spark-overtaken",
        "Two drivers apply the same log to the same table.",
        "Leave one of them running; the other may start again and finds its place in the table.",
    ),
    (
        "spark-table-taken",
        "Two source tables have the same name in the catalog of the target.",
        "Apply one of them to another namespace, or to a folder, where every name is kept.",
    ),
    (
        "spark-master",
        "The command line starts local Spark sessions only.",
        "Submit the job to the cluster and call headwater.app.spark.TableJob there.",
    ),
    (
        "spark-start",
        "Spark's JVM did not start.",
        "Look into the log folder that the message names; headwater doctor checks Java.",
    ),
)
