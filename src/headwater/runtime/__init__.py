"""The engine: loops that move events, and the bookkeeping that makes them safe.

- lifecycle.py, loop.py: states (INV-4), threads, drain and stop.
- capture.py: source to log, then confirm (INV-2, INV-3); steering.py: commands on the way.
- ledger.py (pure), subscription.py, cutting.py: deliveries and acknowledgements (INV-1).
- whole.py: transactions that deliveries cut, as a whole for those who need them.
- delivery.py: subscription to sink, with the policies of `deliver`.
- health.py (pure), admin.py, meter.py, signals.py: what people and machines ask it.

May import: deliver, contract, event, errors, failpoint. It sees no concrete part.
"""

from headwater.runtime.admin import CursorFacts, measured, snapshot
from headwater.runtime.capture import CaptureLoop, CapturePolicy
from headwater.runtime.delivery import DeliveryLoop, DeliveryPolicy
from headwater.runtime.health import Facts, Status, Verdict, verdict
from headwater.runtime.ledger import Ledger
from headwater.runtime.lifecycle import Lifecycle, State
from headwater.runtime.signals import two_step_stop
from headwater.runtime.subscription import Delivery, Subscription, SubscriptionPolicy
from headwater.runtime.whole import WholeTransactions

__all__ = [
    "CaptureLoop",
    "CapturePolicy",
    "CursorFacts",
    "Delivery",
    "DeliveryLoop",
    "DeliveryPolicy",
    "Facts",
    "Ledger",
    "Lifecycle",
    "State",
    "Status",
    "Subscription",
    "SubscriptionPolicy",
    "Verdict",
    "WholeTransactions",
    "measured",
    "snapshot",
    "two_step_stop",
    "verdict",
]
