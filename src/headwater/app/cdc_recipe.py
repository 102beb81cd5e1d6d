"""How to come by the records of CDC Format 1.0 in another process: in Spark's workers, for one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from headwater.app.cdc import CdcPlan
from headwater.app.config import CdcSettings
from headwater.app.registry import open_log
from headwater.contract import Transform
from headwater.errors import ConfigError
from headwater.event import EventBatch
from headwater.runtime import WholeTransactions
from headwater.transform import KeepTables


@dataclass(frozen=True, slots=True)
class CdcRecipe:
    """The settings of a `cdc` section, and the log that knows the tables' foreign keys."""

    plan: CdcPlan
    log: str
    tables: tuple[str, ...] = ("*",)

    @classmethod
    def of(cls, settings: Mapping[str, Any], log: str, tables: Sequence[str]) -> CdcRecipe:
        """Read the settings; a ConfigError tells the first that is wrong."""
        try:
            read = CdcSettings.model_validate(dict(settings))
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, ("cdc", *first["loc"])))
            raise ConfigError("config-invalid", str(first["msg"]), where=place) from None
        return cls(CdcPlan.of(read), log, tuple(tables))

    @contextmanager
    def open(self) -> Iterator[Callable[[EventBatch], Sequence[bytes]]]:
        """From events to records, the same as in the capture process, while the block lasts."""
        form = self.plan.format()
        with closing(open_log(self.log).reader()) as reader:
            scratch = Path(tempfile.gettempdir())
            change = self.plan.transform(reader, KeepTables(keep=self.tables), scratch)
            yield lambda batch: form.encode(_changed(change, batch))


def _changed(change: Transform | WholeTransactions, batch: EventBatch) -> EventBatch:
    if isinstance(change, WholeTransactions):
        return EventBatch.concat([made for _, made in change.parts(batch)])
    return change(batch)
