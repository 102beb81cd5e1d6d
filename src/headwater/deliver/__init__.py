"""Delivery policy around a sink: what to do when it cannot, will never, or cannot yet take it.

- `RetryPolicy`, `Backoff` (retry.py): pure; the error's kind decides, full jitter spreads.
- `DeadLetters` (deadletter.py): a record that can never be written is kept before it is passed.
- `Window` (backpressure.py): how much may be under way, by events and bytes.

May import: contract, event, errors, failpoint.
"""

from headwater.deliver.backpressure import Window
from headwater.deliver.deadletter import DeadLetters
from headwater.deliver.retry import Backoff, RetryPolicy

__all__ = ["Backoff", "DeadLetters", "RetryPolicy", "Window"]
