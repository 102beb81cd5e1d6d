"""FileSink: events into one file, each exactly once, whatever crashes in between."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from headwater.contract import Format, SinkCapabilities, WriteStatus
from headwater.errors import ConfigError, CorruptionError, MachineError
from headwater.event import EventBatch
from headwater.failpoint import failpoint
from headwater.files import sync_directory
from headwater.sink.framing import Framing


@dataclass(frozen=True, slots=True)
class _State:
    """What is durable: this many bytes, which end with the event of this sequence number."""

    bytes: int = 0
    sequence_number: int = 0
    lineage: str = ""


class FileSink:
    """Appends records to a file.

    A state file beside it (`NAME.state`) says how many bytes are durable and which event is the
    last one in them. Opening cuts everything after that, torn or whole, and a redelivered event
    that lies before it is skipped.

    Delivery: exactly once per file. After `flush` the file holds every event up to the last one
    written, once, in order, synced to disk; after a crash it holds those of the last flush, and
    redelivery from the consumer's cursor completes it. Between flushes a reader may see records
    that a crash takes away again.

    `lineage` names the log (its id): sequence numbers of another log mean other events, so a file
    that was begun with one lineage refuses every other.
    """

    def __init__(
        self,
        path: Path,
        record_format: Format,
        *,
        framing: Framing = Framing.LINES,
        lineage: str = "",
    ) -> None:
        self.path = path
        self.state_path = path.with_name(f"{path.name}.state")
        self._format = record_format
        self._framing = framing
        self._lineage = lineage
        self._file: int | None = None
        self._size = 0
        self._last_sequence = 0

    @property
    def capabilities(self) -> SinkCapabilities:
        """A repeated write changes nothing; order is kept."""
        return SinkCapabilities(idempotent=True, ordered=True)

    def open(self) -> None:
        """Open or create the file and cut off what was never made durable."""
        try:
            self._open()
        except OSError as exc:
            raise _refused(self.path, exc) from exc

    def _open(self) -> None:
        self.close()
        state = self._load_state()
        descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size < state.bytes:
                raise CorruptionError(
                    "sink-file-damaged",
                    f"the file has {size} bytes, {state.bytes} were durable",
                    where=str(self.path),
                )
            os.ftruncate(descriptor, state.bytes)
            os.lseek(descriptor, state.bytes, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        self._file, self._size = descriptor, state.bytes
        self._last_sequence = state.sequence_number
        self._lineage = self._lineage or state.lineage

    def _load_state(self) -> _State:
        if self.state_path.exists():
            return self._checked(_parse_state(self.state_path))
        if self.path.exists() and self.path.stat().st_size:
            raise ConfigError(
                "sink-foreign-file", "the file was not written by this sink", where=str(self.path)
            )
        # Before the file exists, so that a file with bytes and no state is never ours.
        state = _State(lineage=self._lineage)
        self._save_state(state)
        return state

    def _checked(self, state: _State) -> _State:
        if self._lineage and state.lineage and self._lineage != state.lineage:
            raise ConfigError(
                "sink-other-log",
                f"the file belongs to log {state.lineage}, not to {self._lineage}",
                where=str(self.path),
            )
        return state

    def write(self, batch: EventBatch) -> WriteStatus:
        """Append what is new of the batch. All of it or, on a bad record, nothing."""
        numbers = batch.column("sequence_number")
        fresh = batch.filter(pc.greater(numbers, self._last_sequence))
        if len(fresh) == 0:
            return WriteStatus.ACCEPTED
        data = self._framing.frame(self._format.encode(fresh))
        try:
            self._append(data)
        except OSError as exc:
            raise _refused(self.path, exc) from exc
        failpoint("sink.file.after_write")
        self._last_sequence = fresh.last_sequence
        return WriteStatus.ACCEPTED

    def _append(self, data: bytes) -> None:
        at = self._size
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor(), view, at)
            at, view = at + written, view[written:]
        self._size = at

    def flush(self) -> None:
        """Sync the file, then record in the state file how much of it counts."""
        try:
            os.fsync(self._descriptor())
            failpoint("sink.file.before_state")
            self._save_state(_State(self._size, self._last_sequence, self._lineage))
            failpoint("sink.file.after_state")
        except OSError as exc:
            raise _refused(self.path, exc) from exc

    def _save_state(self, state: _State) -> None:
        draft = self.state_path.with_name(f"{self.state_path.name}.new")
        descriptor = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, json.dumps(asdict(state)).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        draft.replace(self.state_path)
        sync_directory(self.path.parent)

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _descriptor(self) -> int:
        if self._file is None:
            raise RuntimeError("the sink is not open")
        return self._file


def _parse_state(path: Path) -> _State:
    try:
        fields: dict[str, Any] = json.loads(path.read_bytes())
        return _State(**fields)
    except (ValueError, TypeError) as exc:
        raise CorruptionError("sink-file-damaged", str(exc), where=str(path)) from exc


def _refused(path: Path, exc: OSError) -> MachineError:
    return MachineError("sink-io", str(exc), where=str(path))
