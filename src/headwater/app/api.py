"""The Python API: `capture` a database, `subscribe` to a log, iterate, acknowledge.

    import headwater

    with headwater.capture("sqlite:///shop.db", log="shop.hwlog", tables=["orders"]) as changes:
        for batch in changes:
            for event in batch:
                print(event.op.label, event.table, event.after)
            batch.ack()

What was not acknowledged is delivered again after a restart; what was, is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headwater.app.capturing import Capture
from headwater.app.config import Config, load_config
from headwater.app.consuming import Consumer, Place, Start
from headwater.app.registry import open_log, open_source, parse_url
from headwater.app.source_options import PostgresOptions, SourceOptions
from headwater.contract import Log, Source
from headwater.errors import ConfigError
from headwater.runtime import CapturePolicy, SubscriptionPolicy
from headwater.transform import KeepTables

Until = Literal["head"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """The finer settings of `capture`.

    - `exclude`: tables to leave out, by name or glob; it wins over `tables`.
    - `snapshot`: `initial` reads the rows that exist first, `never` only what changes from now on.
    - `on_gap`: what to do when the database no longer has changes that the log lacks: `halt` with
      an error, `resnapshot` the tables, or `accept` the loss and go on.
    - `start`: where a new consumer begins; see `subscribe`.
    - `required`: whether retention waits for this consumer.
    - `max_events`: the most events in one batch. A larger transaction comes in several.
    - `slot`: PostgreSQL's replication slot, and the publication of the same name; by default
      `headwater_` and the database's name. Each log of one database needs its own.
    """

    exclude: Sequence[str] = ()
    snapshot: Literal["initial", "never"] = "initial"
    on_gap: Literal["halt", "resnapshot", "accept"] = "halt"
    start: Start = "earliest"
    required: bool = False
    max_events: int = 5_000
    slot: str | None = None


def capture(
    source: str | Path | Config | Source,
    *,
    log: str | Path | Log | None = None,
    tables: Sequence[str] = ("*",),
    name: str = "default",
    until: Until | None = None,
    options: CaptureOptions | None = None,
) -> Capture:
    """Capture a database into a log and consume it, in one process.

    Use the result in a `with` statement: capture runs in the background from there to its end, and
    leaving it finishes the transaction in hand and closes everything. Iterating gives batches
    (`Delivery`) in commit order; a batch's `ack()` moves the durable place of the consumer `name`.
    If capture fails, the iteration raises its error, coded and with a fix.

    - `source`: a URL (`sqlite:///shop.db`, `postgresql://USER:PASSWORD@HOST/DATABASE`), a path to
      a SQLite file, a configuration file (`.yaml`, `.yml`), a `Config`, or a `Source` object of
      your own.
    - `log`: the log file, made if there is none. Where the source is a file, it defaults to the
      same name with `.hwlog`. A configuration names its own.
    - `tables`: names or globs of the tables to capture.
    - `until="head"`: stop iterating once everything committed by now was delivered.
    """
    finer = options or CaptureOptions()
    parts = _parts(source, log, tuple(tables), finer)
    return Capture(
        parts.source,
        Consumer(
            parts.log,
            Place(name=name, start=finer.start, required=finer.required),
            policy=SubscriptionPolicy(max_events=finer.max_events),
        ),
        policy=parts.policy,
        until_head=until == "head",
    )


def subscribe(
    log: str | Path | Log,
    *,
    name: str = "default",
    start: Start = "earliest",
    until: Until | None = None,
    tables: Sequence[str] = ("*",),
    policy: SubscriptionPolicy | None = None,
) -> Consumer:
    """Consume a log that another process, or another part of this one, writes.

    Any number of consumers read one log, each from its own durable place, which goes by `name`.

    - `start`: where a consumer of a new name begins: `"earliest"`, `"latest"` (only what comes from
      now on), or the sequence number of the first event. A known name goes on after what it
      acknowledged, whatever `start` says.
    - `until="head"`: stop iterating at the last event that the log has when it is opened.
    - `tables`: deliver only these; batches without any are passed over.
    - `policy`: sizes, waiting times and limits of what may be unacknowledged.
    """
    patterns = tuple(tables)
    return Consumer(
        _log(log),
        Place(name=name, start=start),
        policy=policy,
        transform=None if patterns == ("*",) else KeepTables(patterns),
        until_head=until == "head",
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    source: Source
    log: Log
    policy: CapturePolicy


def _parts(
    source: str | Path | Config | Source,
    log: str | Path | Log | None,
    tables: tuple[str, ...],
    finer: CaptureOptions,
) -> _Parts:
    if isinstance(source, (str, Path)) and Path(source).suffix in {".yaml", ".yml"}:
        source = load_config(source)
    if isinstance(source, Config):
        from headwater.app.options import source_options

        policy = CapturePolicy(read_timeout_s=source.source.poll_interval.seconds)
        opened = open_source(source.source.url, source_options(source))
        return _Parts(opened, _log(log or source.log.path), policy)
    if isinstance(source, (str, Path)):
        url = parse_url(str(source))
        settings = SourceOptions(
            tables=tables,
            exclude=tuple(finer.exclude),
            snapshot=finer.snapshot,
            on_gap=finer.on_gap,
            postgres=PostgresOptions(slot=finer.slot, publication=finer.slot),
        )
        if finer.slot is not None and url.server is None:
            raise ConfigError("config-invalid", "only a PostgreSQL source has a slot")
        beside = None if url.path is None else url.path.with_suffix(".hwlog")
        return _Parts(open_source(url, settings), _log(log or beside), CapturePolicy())
    return _Parts(source, _log(log), CapturePolicy())


def _log(log: str | Path | Log | None) -> Log:
    if log is None:
        raise ConfigError(
            "config-invalid", "no log was named", hint='name a file: log="changes.hwlog"'
        )
    return open_log(log) if isinstance(log, (str, Path)) else log
