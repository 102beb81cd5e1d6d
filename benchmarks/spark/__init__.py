"""How fast Spark reads the log, against its own Parquet reader on the same rows."""
