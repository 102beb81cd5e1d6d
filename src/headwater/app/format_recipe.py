"""How to come by a format in another process: in Spark's workers, for one. It holds no secret."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from headwater.app.config import RegistrySettings, interpolate
from headwater.app.format_schemas import as_configured
from headwater.app.registry import default_registry, open_log
from headwater.contract import Format
from headwater.errors import ConfigError


@dataclass(frozen=True, slots=True)
class FormatRecipe:
    """A format by name, the log that knows its tables, and the settings of its registry.

    The settings are those of a configuration file, in its own form: a password is a reference such
    as `${REGISTRY_PASSWORD}`, which is resolved where the format is opened (INV-12).
    """

    name: str
    log: str | None = None
    registry: tuple[tuple[str, str], ...] | None = None

    @contextmanager
    def open(self) -> Iterator[Format]:
        """The format, for as long as the block lasts."""
        form, settings = default_registry().format(self.name), self._settings()
        if self.log is None:
            yield as_configured(form, settings, None)
            return
        with closing(open_log(self.log).reader()) as reader:
            yield as_configured(form, settings, reader)

    def _settings(self) -> RegistrySettings | None:
        if self.registry is None:
            return None
        values = {name: interpolate(value, os.environ, Path.cwd()) for name, value in self.registry}
        try:
            return RegistrySettings.model_validate(values)
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, ("registry", *first["loc"])))
            raise ConfigError("config-invalid", str(first["msg"]), where=place) from None
