"""The files of a Spark checkpoint, as Spark 4.2 writes and reads them."""

from __future__ import annotations

import pytest

from headwater.spark.checkpoint.files import (
    Offset,
    decode_commit,
    decode_metadata,
    decode_offset,
    encode_commit,
    encode_metadata,
    encode_offset,
)

LOG = "e73677f5-cf8e-481c-a074-87f39905eee8"
# Recorded from a stream of Spark 4.2.0; most settings are left out.
RECORDED_OFFSET = (
    b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1794949893641,"conf":'
    b'{"spark.sql.streaming.multipleWatermarkPolicy":"min","spark.sql.shuffle.partitions":"2"}}\n'
    b'{"sequence": 6, "log": "e73677f5-cf8e-481c-a074-87f39905eee8"}'
)
RECORDED_COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
RECORDED_METADATA = b'{"id":"05ec2075-c218-4969-a6b2-27a2dbd8f4bd"}'


def test_recorded_files_are_read() -> None:
    assert decode_offset(RECORDED_OFFSET) == Offset(6, LOG)
    assert decode_metadata(RECORDED_METADATA) == "05ec2075-c218-4969-a6b2-27a2dbd8f4bd"
    decode_commit(RECORDED_COMMIT)


def test_written_files_are_those_of_spark() -> None:
    assert encode_commit() == RECORDED_COMMIT
    assert encode_metadata("05ec2075-c218-4969-a6b2-27a2dbd8f4bd") == RECORDED_METADATA
    written = encode_offset(Offset(6, LOG), 1794949893641)
    assert decode_offset(written) == Offset(6, LOG)
    assert written.splitlines()[::2] == RECORDED_OFFSET.splitlines()[::2]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"v2\n{}\n{}",
        RECORDED_OFFSET[:20],
        RECORDED_OFFSET[:-5],
        RECORDED_OFFSET.replace(b"6,", b'"6",'),
        RECORDED_OFFSET.replace(b'"log"', b'"dog"'),
        RECORDED_OFFSET + b"\n{}",
        b"\xff\xfe",
        b"v1\n{}\n[]",
    ],
)
def test_damaged_offsets_say_what_is_wrong(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode_offset(data)
