"""What a read asks for. Spark hands the names of options over in lower case."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one read, checked."""

    path: str
    consumer: str
    tables: tuple[str, ...]
    starting: str
    ending: int | None
    max_events: int | None
    partitions: int

    @classmethod
    def parse(cls, given: dict[str, str]) -> Options:
        """Read Spark's option map; keys are in lower case there."""
        try:
            ending = given.get("endingsequence")
            limit = given.get("maxeventspertrigger")
            return cls(
                path=given["path"],
                consumer=given.get("consumer", ""),
                tables=tuple(filter(None, map(str.strip, given.get("tables", "").split(",")))),
                starting=given.get("startingsequence", ""),
                ending=None if ending is None else int(ending),
                max_events=None if limit is None else int(limit),
                partitions=int(given.get("partitions", "2")),
            )
        except KeyError as exc:
            raise ConfigError("spark-option", f"option {exc} is missing") from exc
        except ValueError as exc:
            raise ConfigError("spark-option", f"an option has a wrong value: {exc}") from exc
