"""The rows that exist: read in the slot's own snapshot, beside the stream, or to be compared.

chunk, copying, pieces    rows of a table by ranges of pages, as batches
snapshot, load            the first load, in the snapshot that the slot begins with
watermark, overlay        rows read beside the running stream, and what the stream says of them
backfill, throttle        owed rows, table after table, no faster than asked for
rows                      all rows at one moment, to be compared with a copy
"""
