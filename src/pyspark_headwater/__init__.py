"""Spark looks for packages of this name: it makes format("headwater") known without a call."""

from headwater.app.spark.source import HeadwaterDataSource as DefaultSource

__all__ = ["DefaultSource"]
