"""Headwater: every committed row change of a database, in order, without loss.

    import headwater

    with headwater.capture("sqlite:///shop.db", log="shop.hwlog") as changes:
        for batch in changes:
            for event in batch:
                print(event.op.label, event.table, event.after)
            batch.ack()

`capture` reads a database, `subscribe` an existing log; `headwater.aio` has both for asyncio;
`headwater.formats` turns events into the records of other systems and back, `headwater.pipelines`
has functions on Spark's frames of events. The names below are the public surface; each is loaded
when it is first used, so importing this package loads no driver, no Arrow and no Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater._version import __version__

if TYPE_CHECKING:
    from headwater import aio, formats, pipelines
    from headwater.app.api import CaptureOptions, capture, subscribe
    from headwater.app.capturing import Capture
    from headwater.app.config import Config, load_config
    from headwater.app.consuming import Consumer
    from headwater.errors import (
        ConfigError,
        CorruptionError,
        DataError,
        FencedError,
        GapError,
        HeadwaterError,
        MachineError,
        StateError,
        TransientError,
    )
    from headwater.event import Event, EventBatch, Operation
    from headwater.log import SqliteLog
    from headwater.runtime import Delivery, SubscriptionPolicy
    from headwater.secret import Secret

__all__ = [
    "Capture",
    "CaptureOptions",
    "Config",
    "ConfigError",
    "Consumer",
    "CorruptionError",
    "DataError",
    "Delivery",
    "Event",
    "EventBatch",
    "FencedError",
    "GapError",
    "HeadwaterError",
    "MachineError",
    "Operation",
    "Secret",
    "SqliteLog",
    "StateError",
    "SubscriptionPolicy",
    "TransientError",
    "__version__",
    "aio",
    "capture",
    "formats",
    "load_config",
    "pipelines",
    "subscribe",
]

_HOMES = {
    "headwater.app.api": ("CaptureOptions", "capture", "subscribe"),
    "headwater.app.capturing": ("Capture",),
    "headwater.app.config": ("Config", "load_config"),
    "headwater.app.consuming": ("Consumer",),
    "headwater.errors": (
        "ConfigError",
        "CorruptionError",
        "DataError",
        "FencedError",
        "GapError",
        "HeadwaterError",
        "MachineError",
        "StateError",
        "TransientError",
    ),
    "headwater.event": ("Event", "EventBatch", "Operation"),
    "headwater.log": ("SqliteLog",),
    "headwater.runtime": ("Delivery", "SubscriptionPolicy"),
    "headwater.secret": ("Secret",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("aio", "formats", "pipelines"):
        return import_module(f"headwater.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'headwater' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
