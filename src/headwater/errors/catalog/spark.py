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
        "spark-failed",
        "Spark refused something, and said why.",
        "Correct what it names. HEADWATER_SPARK_LOG names a folder for all that Spark says.",
    ),
    (
        "spark-table-busy",
        "A target table changes faster than it can be read.",
        "Try again, or stop the pipeline for the comparison.",
    ),
    (
        "spark-table-loading",
        "A target table has not all of its rows yet, and cannot be compared.",
        "Let the pipeline run until the first load is over: headwater status CONFIG",
    ),
    (
        "spark-load-overtaken",
        "Two drivers load the same table, and one of them has finished it.",
        "Let one pipeline write to the target; it goes on by itself.",
    ),
    (
        "spark-connect",
        "Tables cannot be kept from a session of Spark Connect, which has no JVM of its own.",
        "Run the job where the driver is, with spark-submit or SparkSession.builder.master(…).",
    ),
    (
        "spark-jars",
        "Spark's table-format jars could not be fetched.",
        "Connect to Maven Central once, or use --table-format parquet, which needs no jar.",
    ),
    (
        "spark-avro-missing",
        "The session has no jar with Spark's functions on Avro, which native reading calls.",
        "Use spark_session(avro=True), or headwater.spark.session.avro_conf in one of your own.",
    ),
    (
        "spark-native",
        "Spark's own functions read headwater-avro without a registry, and no other format.",
        "Leave native out: decode(records, name)",
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
        "Spark's checkpoint, or a table, was made with another log.",
        "Point to the log that it was made with, or choose a new target.",
    ),
    (
        "spark-topic",
        "A topic cannot keep tables: it has several partitions, and a log has one order.",
        "Write the events to a topic that was made with one partition.",
    ),
    (
        "spark-shape-unknown",
        "A record is of a table whose shape no record before it has told.",
        "Read the topic from its beginning, or write the events of the table to it again.",
    ),
    (
        "spark-no-key",
        "A table without a primary key cannot be mirrored row by row.",
        "Give it a primary key, or set spark.on_no_key: append_log or skip.",
    ),
    (
        "spark-policy",
        "A policy for tables does not exist, or the table format does not have it.",
        "docs: guide, Spark, Tables that are emptied or dropped.",
    ),
    (
        "spark-truncated",
        "A table was emptied at the source, and its policy is to stop at that.",
        "Set spark.on_truncate: apply to empty the table too, or ignore to leave its rows.",
    ),
    (
        "spark-dropped",
        "A table was dropped at the source, and its policy is to stop at that.",
        "Set spark.on_drop_table: keep to leave its rows, or empty to let them go.",
    ),
    (
        "spark-mode",
        "A mode of keeping tables does not exist, or the table format does not have it.",
        "Choose mirror, soft_delete, scd2 or append_log, on Delta tables.",
    ),
    (
        "spark-type-changed",
        "A column has another type at the source than in the table, and no ALTER leads there.",
        "Run the statements shown, or set spark.schema.policy: lenient.",
    ),
    (
        "spark-schema-halted",
        "The columns of a table differ from its source's, and its policy is to stop at that.",
        "Run the statements shown, or set spark.schema.policy: evolve.",
    ),
    (
        "spark-key-changed",
        "The source tells the rows of a table apart by other columns than the table does.",
        "Remove the table's folder and read its rows again: headwater backfill start FILE TABLE",
    ),
    (
        "spark-schema",
        "A setting of spark.schema does not exist, or does not go with the others.",
        "Set policy: evolve for on_drop_column: drop; docs: guide, Spark, Schema changes.",
    ),
    (
        "spark-overtaken",
        "Two drivers apply the same log to the same table.",
        "Leave one of them running; the other may start again and finds its place in the table.",
    ),
    (
        "spark-contended",
        "Others write to a table so often that the stream's own commits do not come through.",
        "Let them write less often, or compact with maintenance of the pipeline: guide, Spark.",
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
        "spark-batch-only",
        "A function needs all of a batch before it, and was given a stream.",
        "Call it inside foreachBatch: stream.writeStream.foreachBatch(your_function).start()",
    ),
    (
        "auto-cdc-partial",
        "Auto CDC writes every column of a row, and the source did not send all of them.",
        "Keep this table with headwater.app.spark.TableJob, which writes only what was sent.",
    ),
    (
        "auto-cdc-truncate",
        "Auto CDC has no word for a table that was emptied.",
        "Refresh the table fully: spark-pipelines run --full-refresh TABLE, from events after it.",
    ),
    (
        "spark-new-shape",
        "An event has a shape of its table that the log did not know when the query began.",
        "Start the query again, from its checkpoint; it reads the shapes that the log knows then.",
    ),
    (
        "spark-start",
        "Spark's JVM did not start.",
        "Look into the log folder that the message names; headwater doctor checks Java.",
    ),
)
