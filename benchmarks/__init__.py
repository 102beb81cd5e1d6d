"""Benchmarks: ratios against a limit or a peer in the same run, with an A/A control beside them."""
