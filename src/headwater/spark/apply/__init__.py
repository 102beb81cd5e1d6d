"""A micro-batch to its tables: several at once, each exactly once, in sessions of their own."""
