"""A topic of one partition, read by offsets: a log as a Kafka broker keeps it.

Offsets may have holes, where records were compacted or a producer's transaction ended, so a read
ends by where the consumer stands and not by what it has counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka import Message as Record
from confluent_kafka.admin import AdminClient

from headwater.contract import Message
from headwater.errors import ConfigError, GapError, HeadwaterError, TransientError

_TIMEOUT_S = 15.0
_AT_ONCE = 5_000
# What a broker of before Kafka 2.8 says, which gives topics no ids.
_NO_ID = str(Uuid(0, 0))
_OURS: dict[str, str | int | float | bool] = {
    # Places are the reader's to keep: the group is only a word that the client insists on.
    "group.id": "headwater",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # What the broker no longer has is a gap, and never a reason to begin elsewhere (INV-9).
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
}


class TopicReader:
    """Reads ranges of offsets. `settings` are the client's own, such as `security.protocol`."""

    def __init__(self, servers: str, name: str, settings: Mapping[str, str]) -> None:
        self._name = name
        self._where = f"{servers}/{name}"
        try:
            self._settings = {"log_level": 0, **settings, **_OURS, "bootstrap.servers": servers}
            self._consumer = Consumer(self._settings)
        except KafkaException as exc:
            raise ConfigError("kafka-setting", _reason(exc), where=self._where) from exc

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()

    def require_one_partition(self) -> None:
        """Raise if the topic cannot be a log, which has one order."""
        try:
            found = self._consumer.list_topics(self._name, timeout=_TIMEOUT_S).topics[self._name]
        except KafkaException as exc:
            raise self._failed(exc) from exc
        if found.error is not None or len(found.partitions) != 1:
            what = "is not there" if found.error else f"has {len(found.partitions)} partitions"
            raise ConfigError("kafka-topic", f"the topic {what}", where=self._where)

    def identity(self) -> str | None:
        """The broker's own id of the topic, another for each of a name; None if it has none."""
        topics = TopicCollection([self._name])
        try:
            admin = AdminClient({**self._settings})  # a consumer cannot ask for it
            asked = admin.describe_topics(topics, request_timeout=_TIMEOUT_S)
            found = asked[self._name].result().topic_id
        except KafkaException as exc:
            if exc.args[0].code() == KafkaError._UNSUPPORTED_FEATURE:  # noqa: SLF001
                return None
            raise self._failed(exc) from exc
        return None if found is None or str(found) == _NO_ID else str(found)

    def bounds(self) -> tuple[int, int]:
        """The offset of the first record that is there, and the one that the next will have."""
        try:
            return self._consumer.get_watermark_offsets(self._at(), timeout=_TIMEOUT_S)
        except KafkaException as exc:
            raise self._failed(exc) from exc

    def offset_at(self, ms: int) -> int:
        """The offset of the first record that was written at this time or later."""
        try:
            (found,) = self._consumer.offsets_for_times([self._at(ms)], timeout=_TIMEOUT_S)
        except KafkaException as exc:
            raise self._failed(exc) from exc
        return found.offset if found.offset >= 0 else self.bounds()[1]

    def read(self, first: int, end: int) -> Iterator[list[Message]]:
        """The records from `first` on and before `end`, some at a time."""
        self._consumer.assign([self._at(first)])
        reached = first
        while reached < end:
            record = self._consumer.poll(_TIMEOUT_S)
            if record is None:
                raise TransientError(
                    "kafka-unreachable",
                    f"no record came for {_TIMEOUT_S:g} s, {end - reached} were to come",
                    where=self._where,
                )
            # What has come with it, too: given time, the client would wait for the whole number.
            records = [record, *self._consumer.consume(_AT_ONCE, timeout=0)]
            found = [each for each in records if not self._ended(each) and _offset(each) < end]
            if found:
                yield [_message(each) for each in found]
            reached = max(_offset(each) + (not self._ended(each)) for each in records)

    def _ended(self, record: Record) -> bool:
        """Whether this is word of the topic's end, which has the offset of the next record."""
        error = record.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
            return True
        raise self._failed(KafkaException(error))

    def _at(self, offset: int = 0) -> TopicPartition:
        return TopicPartition(self._name, 0, offset)

    def _failed(self, exc: KafkaException) -> HeadwaterError:
        code = exc.args[0].code()
        if code in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):  # noqa: SLF001
            return GapError("kafka-gap", _reason(exc), where=self._where)
        if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001
            return ConfigError("kafka-topic", "the topic is not there", where=self._where)
        return TransientError("kafka-unreachable", _reason(exc), where=self._where)


def _reason(exc: KafkaException) -> str:
    return str(exc.args[0].str())


def _offset(record: Record) -> int:
    return -1 if (offset := record.offset()) is None else offset


def _message(record: Record) -> Message:
    # The client declares all that a producer may give; a consumer gets bytes, and headers in pairs.
    key: Any = record.key()
    value: Any = record.value()
    headers: Any = record.headers()
    return Message(key, value, tuple(headers or ()))
