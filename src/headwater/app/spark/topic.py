"""A topic by the URL of a read: `kafka://BROKER:9092/TOPIC`, for the workers too.

Options `kafka.*` are the client's settings. They travel in Spark's plans, so those that are secret
hold references (INV-12), which are resolved by the process that reads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import ConfigError, MachineError
from headwater.event import EventBatch
from headwater.spark.source.options import Options

if TYPE_CHECKING:
    from headwater.log.topic import TopicReader

_URL = re.compile(r"kafka://(?P<servers>[^/?#]+)/(?P<name>[\w.-]+)/?", re.ASCII)
_SECRET = re.compile(r"password|secret|pem$|jaas|token", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """Implements spark.source.topic.Topic; `settings` are as they were given."""

    servers: str
    name: str
    form: str
    settings: tuple[tuple[str, str], ...]

    def identity(self) -> str | None:
        """What the broker knows it by; None if it does not say."""
        with self._open() as reader:
            return reader.identity()

    def bounds(self) -> tuple[int, int]:
        """The offset of the first record that is there, and the one that the next will have."""
        with self._open() as reader:
            reader.require_one_partition()
            return reader.bounds()

    def offset_at(self, ms: int) -> int:
        """The offset of the first record that was written at this time or later."""
        with self._open() as reader:
            return reader.offset_at(ms)

    def read(self, first: int, end: int) -> Iterator[EventBatch]:
        """The events, decoded some at a time."""
        from headwater.app.format_recipe import FormatRecipe
        from headwater.format.carried import CarriedFormat

        with FormatRecipe(self.form).open() as form, self._open() as reader:
            carried = CarriedFormat(form)
            for messages in reader.read(first, end):
                yield carried.read_messages(messages)

    @contextmanager
    def _open(self) -> Iterator[TopicReader]:
        # With it comes all that reads configurations, and every worker imports this module.
        from headwater.app.config.interpolate import interpolate

        try:
            from headwater.log.topic import TopicReader
        except ModuleNotFoundError as exc:
            raise MachineError("kafka-missing", "Kafka's client is not installed") from exc
        settings = {
            name: interpolate(value, os.environ, Path.cwd()) for name, value in self.settings
        }
        with closing(TopicReader(self.servers, self.name, settings)) as reader:
            yield reader


def topic_of(options: Options) -> KafkaTopic | None:
    """The topic that a read names; None if it names a log or a database."""
    text = options.path
    if not text.startswith("kafka:"):
        if options.broker or options.record_format:
            name = next(iter(options.broker), "recordFormat")
            raise ConfigError("spark-option", f"{name} goes with the URL of a topic")
        return None
    if "@" in text:  # not repeated: there is a password in it
        raise ConfigError(
            "spark-option",
            "a topic's URL has no user and no password, which Spark would show in its plans",
            hint="write them as kafka.sasl.username and kafka.sasl.password=${VARIABLE}",
        )
    found = _URL.fullmatch(text)
    if found is None:
        raise ConfigError(
            "spark-option", f"{text} names no topic", hint="write kafka://BROKER:9092/TOPIC"
        )
    for name, value in options.broker.items():
        if _SECRET.search(name) and "${" not in value:
            raise ConfigError(
                "spark-option",
                f"kafka.{name} is not written in an option, which Spark shows in its plans",
                hint=f"write kafka.{name} as ${{VARIABLE}} or ${{file:/path}}",
            )
    return KafkaTopic(
        found["servers"],
        found["name"],
        options.record_format or "headwater-json",
        tuple(options.broker.items()),
    )
