"""What can be done with frames of events, one by one; `headwater.pipelines` is their door.

arrow.py is how rows go through Arrow batches; formats.py, transform.py, columns.py and
transactions.py use it for records, events, columns and whole transactions. dedup.py, order.py,
tables.py, typed.py, latest.py and native.py are Spark's own expressions; stop.py is where they end
a query.
"""
