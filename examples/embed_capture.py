"""Capture a database inside your own program: every committed change, in order, once acknowledged.

python examples/embed_capture.py shop.db
"""

import sys

import headwater

database = sys.argv[1] if len(sys.argv) > 1 else "shop.db"

with headwater.capture(f"sqlite:///{database}", name="example", until="head") as changes:
    for batch in changes:
        for event in batch:
            print(event.sequence_number, event.op.label, event.table, event.key())
        batch.ack()  # without it, the same batch comes again at the next start
