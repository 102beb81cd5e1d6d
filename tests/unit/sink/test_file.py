from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.errors import ConfigError, CorruptionError, DataError, MachineError
from headwater.event import EventBatch
from headwater.format.headwater.json import JsonFormat
from headwater.sink import FileSink, Framing
from headwater.testing.builders import inserts


def _batch(first: int, count: int) -> EventBatch:
    return inserts(first, count).with_sequence(first)


def _sink(path: Path, lineage: str = "") -> FileSink:
    sink = FileSink(path, JsonFormat(), lineage=lineage)
    sink.open()
    return sink


def _ids(path: Path) -> list[int]:
    return [json.loads(line)["after"]["id"] for line in path.read_bytes().splitlines()]


def test_file_drops_the_unflushed_tail_when_opened_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = _sink(path)
    sink.write(_batch(1, 3))
    sink.flush()
    sink.write(_batch(4, 3))
    sink.close()
    with path.open("ab") as torn:
        torn.write(b'{"half a li')
    sink = _sink(path)
    assert _ids(path) == [1, 2, 3]
    sink.write(_batch(2, 4))
    sink.flush()
    sink.close()
    assert _ids(path) == [1, 2, 3, 4, 5]


def test_file_is_refused_when_somebody_else_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "precious.txt"
    path.write_text("precious\n")
    with pytest.raises(ConfigError) as caught:
        _sink(path)
    assert caught.value.code == "sink-foreign-file"
    assert path.read_text() == "precious\n"


def test_file_is_refused_when_it_belongs_to_another_log(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = _sink(path, "log-a")
    sink.write(_batch(1, 1))
    sink.flush()
    sink.close()
    with pytest.raises(ConfigError) as caught:
        _sink(path, "log-b")
    assert caught.value.code == "sink-other-log"
    sink = _sink(path)
    sink.write(_batch(2, 1))
    sink.flush()
    sink.close()
    with pytest.raises(ConfigError):
        _sink(path, "log-b")


def test_file_is_damaged_when_it_is_shorter_than_what_was_durable(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = _sink(path)
    sink.write(_batch(1, 3))
    sink.flush()
    sink.close()
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorruptionError) as caught:
        _sink(path)
    assert caught.value.code == "sink-file-damaged"
    sink.state_path.write_text("{")
    with pytest.raises(CorruptionError):
        _sink(path)


def test_file_is_a_coded_error_when_the_directory_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        _sink(tmp_path / "none" / "out.jsonl")
    assert caught.value.code == "sink-io"


def test_file_writes_nothing_of_the_batch_when_a_record_does_not_fit(tmp_path: Path) -> None:
    class Odd(JsonFormat):
        def encode(self, batch: EventBatch) -> list[bytes]:
            return [b"fine", b"two\nlines"][: len(batch)]

    path = tmp_path / "out.jsonl"
    sink = FileSink(path, Odd())
    sink.open()
    with pytest.raises(DataError) as caught:
        sink.write(_batch(1, 2))
    assert caught.value.code == "sink-record"
    assert path.read_bytes() == b""
    sink.close()


def test_file_is_private_when_created(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = _sink(path)
    sink.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert sink.state_path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("framing", list(Framing))
def test_framing_reads_back_what_it_framed_when_records_allow_it(framing: Framing) -> None:
    records = [b"", b"a", b"{\r}", bytes([0, 255])]
    assert list(framing.unframe(framing.frame(records))) == records
