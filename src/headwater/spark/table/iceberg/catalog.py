"""Where Iceberg tables are: below a folder, or in a catalog that the session already has.

A folder is a Hadoop catalog of its own, so the tables lie where Delta's would and can be read by
their path. In a named catalog they have names that every catalog takes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.modes import Mode
from headwater.spark.session import CATALOG, folder_conf
from headwater.spark.sql import quoted
from headwater.spark.table.path import table_path

CATALOG_PREFIX = "catalog:"


@dataclass(frozen=True, slots=True)
class Address:
    """A table: its name in a session of ours, where it is for people, and its name in theirs."""

    name: str
    place: str
    public: str
    namespace: str | None = None


class Catalog(Protocol):
    """The tables of one target."""

    def address(self, session: SparkSession, table: TableId, mode: Mode) -> Address:
        """The table that keeps a source table in a mode; the session will know its name."""
        ...

    def own(self, session: SparkSession, name: str) -> Address:
        """A table of ours beside those; the session will know its name."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """Implements Catalog: a Hadoop catalog whose warehouse is the folder."""

    location: str

    def address(self, session: SparkSession, table: TableId, mode: Mode) -> Address:
        """A folder per table and mode, named as Delta's is."""
        path = table_path(self.location, table, mode)
        own = quoted(path.rpartition("/")[2])
        return Address(f"{self._known(session)}.{own}", path, f"{CATALOG}.{own}")

    def own(self, session: SparkSession, name: str) -> Address:
        """In the folder that is ours."""
        within = f"{quoted('_headwater')}.{quoted(name)}"
        path = f"{self.location}/_headwater/{name}"
        return Address(f"{self._known(session)}.{within}", path, f"{CATALOG}.{within}")

    def _known(self, session: SparkSession) -> str:
        """The catalog's name.

        Spark remembers a catalog by its name, and one session may see tables of two targets.
        """
        name = f"{CATALOG}_{hashlib.sha256(self.location.encode()).hexdigest()[:12]}"
        for key, value in folder_conf(self.location, name).items():
            session.conf.set(key, value)
        return name


@dataclass(frozen=True, slots=True)
class Named:
    """Implements Catalog: a namespace of a catalog that the session's settings name."""

    namespace: tuple[str, ...]

    def address(self, session: SparkSession, table: TableId, mode: Mode) -> Address:
        """Letters, digits and underscores: `public.orders` is `public__orders`."""
        del session
        plain = re.sub(r"\W", "_", str(table).replace(".", "__"), flags=re.ASCII)
        return self._address(plain if mode == "mirror" else f"{plain}__{mode}")

    def own(self, session: SparkSession, name: str) -> Address:
        """By a name that no table of a source has for itself."""
        del session
        return self._address(f"headwater_{name}")

    def _address(self, own: str) -> Address:
        namespace = ".".join(map(quoted, self.namespace))
        name = f"{namespace}.{quoted(own)}"
        return Address(name, name, name, namespace)


def catalog_of(target: str) -> Catalog:
    """The catalog of a target: a path or URI, or `catalog:NAME.NAMESPACE`."""
    if target.startswith(CATALOG_PREFIX):
        return Named(tuple(target.removeprefix(CATALOG_PREFIX).split(".")))
    return Folder(target.rstrip("/"))
