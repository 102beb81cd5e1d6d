"""`format("headwater")`: logs as DataFrames, streaming and batch."""
