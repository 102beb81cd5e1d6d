"""Follow a log that another process writes (headwater run, or embed_capture.py).

python examples/subscribe.py shop.hwlog orders
"""

import sys

import headwater

log = sys.argv[1] if len(sys.argv) > 1 else "shop.hwlog"
tables = sys.argv[2:] or ["*"]

with headwater.subscribe(log, name="mailer", tables=tables, until="head") as subscription:
    for batch in subscription:
        for event in batch:
            print(f"{event.op.label:>8} {event.table} {event.after or event.before}")
        batch.ack()
