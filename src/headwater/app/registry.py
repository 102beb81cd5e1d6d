"""Which sources, logs, sinks and formats exist, by the names that configuration uses.

Registration is an explicit call and importing this module loads no part: every factory imports its
own part when it is called. `default_registry` lists what ships; a program adds its own with
`register_*` on a registry of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headwater.app.format_schemas import as_configured
from headwater.app.source_options import SourceOptions
from headwater.app.suggest import closest
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError

if TYPE_CHECKING:
    from headwater.app.config import SinkSettings
    from headwater.contract import Format, SchemaHistory, Sink, Source
    from headwater.log import SqliteLog


SourceFactory = Callable[[SourceUrl, SourceOptions], "Source"]
SinkFactory = Callable[["SinkSettings", "Format", str], "Sink"]
FormatFactory = Callable[[], "Format"]


@dataclass(slots=True)
class Registry:
    """Factories by name."""

    _sources: dict[str, SourceFactory] = field(default_factory=dict)
    _sinks: dict[str, SinkFactory] = field(default_factory=dict)
    _formats: dict[str, FormatFactory] = field(default_factory=dict)

    def register_source(self, scheme: str, factory: SourceFactory) -> None:
        """Offer a source for URLs of this scheme."""
        self._sources[scheme] = factory

    def register_sink(self, kind: str, factory: SinkFactory) -> None:
        """Offer a sink type."""
        self._sinks[kind] = factory

    def register_format(self, name: str, factory: FormatFactory) -> None:
        """Offer a wire format."""
        self._formats[name] = factory

    def source(self, url: SourceUrl, options: SourceOptions) -> Source:
        """A source for the URL, not yet opened."""
        return _find(self._sources, url.scheme, "source-unknown", "source")(url, options)

    def sink(
        self, settings: SinkSettings, lineage: str, schemas: SchemaHistory | None = None
    ) -> Sink:
        """A sink, not yet opened. `lineage` names the log whose sequence numbers it will see.

        `schemas` is that log's history, for formats that write typed rows.
        """
        factory = _find(self._sinks, settings.type, "sink-unknown", "sink type")
        form = as_configured(self.format(settings.format), settings.registry, schemas)
        return factory(settings, form, lineage)

    def format(self, name: str) -> Format:
        """A wire format."""
        return _find(self._formats, name, "format-unknown", "format")()

    def with_format(self, name: str, factory: FormatFactory) -> Registry:
        """The same parts, and another format under this name."""
        return Registry(self._sources, self._sinks, {**self._formats, name: factory})

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Everything that is registered, for `headwater version` and the docs."""
        return {
            "sources": tuple(sorted(self._sources)),
            "sinks": tuple(sorted(self._sinks)),
            "formats": tuple(sorted(self._formats)),
        }


_T = TypeVar("_T")


def _find(known: Mapping[str, _T], name: str, code: str, noun: str) -> _T:
    if name in known:
        return known[name]
    near = closest(name, known)
    listed = ", ".join(sorted(known))
    raise ConfigError(
        code,
        f"there is no {noun} {name!r}",
        hint=f"did you mean {near}?" if near else f"available: {listed}",
    )


def _sqlite(url: SourceUrl, options: SourceOptions) -> Source:
    from headwater.contract import OnGap
    from headwater.source.sqlite import SqliteSource, SqliteSourceConfig

    if url.path is None:
        raise ConfigError("source-unknown", "a SQLite URL names a file", where=str(url))
    return SqliteSource(
        SqliteSourceConfig(
            path=url.path,
            tables=options.tables,
            exclude=options.exclude,
            snapshot=options.snapshot == "initial",
            on_gap=OnGap(options.on_gap),
            poll_interval_s=options.poll_interval_s,
        )
    )


def _postgres(url: SourceUrl, options: SourceOptions) -> Source:
    from headwater.app.postgres_settings import driver, postgres_config

    with driver():
        from headwater.source.postgres import PostgresSource
    return PostgresSource(postgres_config(url, options))


def _json_format() -> Format:
    from headwater.format.headwater.json import JsonFormat

    return JsonFormat()


def _avro_format() -> Format:
    from headwater.format.headwater.avro import AvroFormat

    return AvroFormat()


def _typed_avro_format() -> Format:
    from headwater.format.typed.avro import TypedAvroFormat

    return TypedAvroFormat()


def _protobuf_format() -> Format:
    from headwater.format.headwater.protobuf import ProtobufFormat

    return ProtobufFormat()


def _opencdc_format() -> Format:
    from headwater.format.opencdc.json import OpenCdcFormat

    return OpenCdcFormat()


def _opencdc_protobuf_format() -> Format:
    from headwater.format.opencdc.protobuf import OpenCdcProtobufFormat

    return OpenCdcProtobufFormat()


def _cdc_format() -> Format:
    from headwater.format.cdcformat.json import CdcFormat

    return CdcFormat()


def _debezium_format(*, schema: bool = False) -> Format:
    from headwater.format.debezium.json import DebeziumFormat

    return DebeziumFormat(schema=schema)


def _cloudevents_format() -> Format:
    from headwater.format.cloudevents.json import CloudEventsFormat

    return CloudEventsFormat()


def is_text(record_format: Format) -> bool:
    """JSON is one line; binary records may hold any byte, newlines too."""
    return record_format.content_type.endswith("json")


def _file_sink(settings: SinkSettings, record_format: Format, lineage: str) -> Sink:
    from headwater.sink import FileSink, Framing

    if settings.path is None:
        raise ConfigError("config-invalid", f"sink {settings.name}: a file sink needs a path")
    framing = Framing.LINES if is_text(record_format) else Framing.LENGTH
    return FileSink(settings.path, record_format, framing=framing, lineage=lineage)


def _stdout_sink(settings: SinkSettings, record_format: Format, _lineage: str) -> Sink:
    from headwater.sink import StreamSink

    if not is_text(record_format):
        raise ConfigError(
            "config-invalid",
            f"sink {settings.name}: {record_format.name} is binary; standard output takes JSON",
        )
    return StreamSink(record_format)


@lru_cache(maxsize=1)
def default_registry() -> Registry:
    """Everything that ships with Headwater."""
    registry = Registry()
    registry.register_source("sqlite", _sqlite)
    registry.register_source("postgresql", _postgres)
    registry.register_sink("file", _file_sink)
    registry.register_sink("stdout", _stdout_sink)
    registry.register_format("headwater-json", _json_format)
    registry.register_format("headwater-avro", _avro_format)
    registry.register_format("headwater-avro-typed", _typed_avro_format)
    registry.register_format("headwater-protobuf", _protobuf_format)
    registry.register_format("opencdc", _opencdc_format)
    registry.register_format("opencdc-protobuf", _opencdc_protobuf_format)
    registry.register_format("cdc-format", _cdc_format)
    registry.register_format("debezium", _debezium_format)
    registry.register_format("debezium-schema", partial(_debezium_format, schema=True))
    registry.register_format("cloudevents", _cloudevents_format)
    return registry


def open_source(url: str | SourceUrl, options: SourceOptions | None = None) -> Source:
    """A source for the URL, not yet opened."""
    parsed = url if isinstance(url, SourceUrl) else parse_url(url)
    return default_registry().source(parsed, options or SourceOptions())


def open_log(path: Path | str) -> SqliteLog:
    """The log at this path, which need not exist yet."""
    from headwater.log import SqliteLog

    return SqliteLog(path)


def make_sink(
    settings: SinkSettings, lineage: str = "", schemas: SchemaHistory | None = None
) -> Sink:
    """The sink of these settings, not yet opened; `lineage` names the log that it will see."""
    return default_registry().sink(settings, lineage, schemas)


def make_format(name: str) -> Format:
    """The wire format of this name."""
    return default_registry().format(name)


def parse_url(text: str) -> SourceUrl:
    """A URL or a path to a SQLite file; a coded error says what is wrong with it."""
    try:
        return SourceUrl.parse(text)
    except ValueError as exc:
        # Of a server's URL that cannot be read, nobody can say where the password is (INV-12).
        shown = text if text.startswith("sqlite:") else text.partition(":")[0]
        raise ConfigError("source-unknown", str(exc), where=shown) from exc
