"""The configuration file as types: every setting, its default, and what it means."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from headwater.app.config.cdc import CdcSettings, CompiledCdc, EntitySettings
from headwater.app.config.quantity import Duration, Size
from headwater.app.config.registry import RegistrySettings
from headwater.app.config.scalar import Bool, FilePath, Int, SecretText, Text
from headwater.app.config.section import EVERY_TABLE, Globs, Name, Section
from headwater.app.config.source import SourceSettings
from headwater.app.config.spark import SparkSettings

__all__ = [
    "LOOPBACK",
    "CdcSettings",
    "CompiledCdc",
    "Config",
    "EntitySettings",
    "LogSettings",
    "ObservabilitySettings",
    "RegistrySettings",
    "RetentionSettings",
    "ServerSettings",
    "SinkSettings",
    "SourceSettings",
    "SparkSettings",
]

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class RetentionSettings(Section):
    """How long events stay in the log. Required consumers hold retention back."""

    max_age: Annotated[Duration | None, Field(description="Remove events older than this")] = None
    max_bytes: Annotated[Size | None, Field(description="Keep the log below this size")] = None


class LogSettings(Section):
    """The durable record between the source and its consumers."""

    path: Annotated[FilePath, Field(description="The log file")]
    retention: Annotated[
        RetentionSettings, Field(description="Unlimited where nothing is said")
    ] = RetentionSettings()


class SinkSettings(Section):
    """One more place that receives the changes."""

    name: Annotated[Name, Field(description="The consumer's name; its cursor in the log")]
    type: Annotated[Literal["file", "stdout"], Field(description="Where the changes go")]
    format: Annotated[Text, Field(description="Wire format of one event")] = "headwater-json"
    path: Annotated[FilePath | None, Field(description="The file, for type file")] = None
    tables: Annotated[Globs, Field(min_length=1, description="Tables to deliver")] = EVERY_TABLE
    registry: Annotated[
        RegistrySettings | None, Field(description="Keeps the schemas of the records")
    ] = None

    @model_validator(mode="after")
    def _path_where_needed(self) -> SinkSettings:
        if self.type == "file" and self.path is None:
            raise ValueError("a sink of type file needs a path")
        if self.type != "file" and self.path is not None:
            raise ValueError(f"a sink of type {self.type} has no path")
        return self


class ServerSettings(Section):
    """Status and metrics over HTTP. Off unless this section is there."""

    enabled: Annotated[Bool, Field(description="Serve status and metrics")] = True
    host: Annotated[Text, Field(description="Address to listen on")] = "127.0.0.1"
    port: Annotated[Int, Field(ge=0, le=65535, description="0 takes any free port")] = 8321
    token: Annotated[
        SecretText | None, Field(description="Bearer token; required beyond this machine")
    ] = None

    @model_validator(mode="after")
    def _token_beyond_loopback(self) -> ServerSettings:
        if self.enabled and self.host not in LOOPBACK and self.token is None:
            raise ValueError(
                "listening beyond this machine needs a token: token: ${HEADWATER_TOKEN}"
            )
        return self


class ObservabilitySettings(Section):
    """What the process tells about itself."""

    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="Least level written")
    ] = "info"


class Config(Section):
    """One pipeline: a source, its log and its consumers."""

    version: Annotated[Literal[1], Field(description="Version of this file's layout")]
    name: Annotated[Name, Field(description="The pipeline's name")] = "default"
    source: SourceSettings
    log: LogSettings
    spark: SparkSettings | None = None
    sinks: tuple[SinkSettings, ...] = ()
    cdc: CdcSettings = CdcSettings()
    server: ServerSettings = ServerSettings(enabled=False)
    observability: ObservabilitySettings = ObservabilitySettings()

    @model_validator(mode="after")
    def _distinct_consumers(self) -> Config:
        names = [sink.name for sink in self.sinks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two sinks have the name {', '.join(twice)}; each needs its own")
        return self
