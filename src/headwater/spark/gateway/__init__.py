"""Spark's JVM through py4j, where PySpark has no door: Scala's values, Hadoop's file systems."""
