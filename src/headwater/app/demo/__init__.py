"""The demo: a shop that lives, its changes captured, applied by Spark, and proven equal.

- shop.py: the sample database. writer.py: its business, as another process.
- show.py: the course of the demo, told to whoever watches.
"""
