"""Where Iceberg tables are: below a folder, or in a catalog that the session already has.

A folder is a Hadoop catalog of its own, so the tables lie where Delta's would and can be read by
their path. In a named catalog they have names that every catalog takes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.modes import Mode
from headwater.spark.session import CATALOG, folder_conf
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.table.path import table_path

CATALOG_PREFIX = "catalog:"
# Three files of metadata a batch; snapshots are kept all the same.
FORGETFUL = {"write.metadata.delete-after-commit.enabled": "true"}
_FOLDER = "_headwater"
_OURS = "headwater_"
_LOAD = "load_"


@dataclass(frozen=True, slots=True)
class Address:
    """A table: its name in a session of ours, where it is for people, and its name in theirs.

    `beside` is a table of ours that belongs to it while it is being loaded.
    """

    name: str
    place: str
    public: str
    namespace: str | None = None
    beside: Address | None = None


class Catalog(Protocol):
    """The tables of one target."""

    def address(self, session: SparkSession, table: TableId, mode: Mode) -> Address:
        """The table that keeps a source table in a mode; the session will know its name."""
        ...

    def own(self, session: SparkSession, name: str) -> Address:
        """A table of ours beside those; the session will know its name."""
        ...

    def begun(self, session: SparkSession) -> tuple[str, ...]:
        """The names, in a session of ours, of the tables beside others that exist."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """Implements Catalog: a Hadoop catalog whose warehouse is the folder."""

    location: str

    def address(self, session: SparkSession, table: TableId, mode: Mode) -> Address:
        """A folder per table and mode, named as Delta's is."""
        path = table_path(self.location, table, mode)
        name = path.rpartition("/")[2]
        own, beside = quoted(name), self.own(session, _LOAD + name)
        return Address(f"{self._known(session)}.{own}", path, f"{CATALOG}.{own}", beside=beside)

    def begun(self, session: SparkSession) -> tuple[str, ...]:
        """Those in the folder that is ours."""
        return _tables(session, f"{self._known(session)}.{quoted(_FOLDER)}", _LOAD)

    def own(self, session: SparkSession, name: str) -> Address:
        """In the folder that is ours."""
        within = f"{quoted(_FOLDER)}.{quoted(name)}"
        path = f"{self.location}/{_FOLDER}/{name}"
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
        plain = re.sub(r"\W", "_", str(table).replace(".", "__"), flags=re.ASCII)
        own = plain if mode == "mirror" else f"{plain}__{mode}"
        return replace(self._address(own), beside=self.own(session, _LOAD + own))

    def own(self, session: SparkSession, name: str) -> Address:
        """By a name that no table of a source has for itself."""
        del session
        return self._address(f"{_OURS}{name}")

    def begun(self, session: SparkSession) -> tuple[str, ...]:
        """Those in the namespace."""
        return _tables(session, self._quoted(), f"{_OURS}{_LOAD}")

    def _quoted(self) -> str:
        return ".".join(map(quoted, self.namespace))

    def _address(self, own: str) -> Address:
        namespace = self._quoted()
        name = f"{namespace}.{quoted(own)}"
        return Address(name, name, name, namespace)


def _tables(session: SparkSession, namespace: str, prefix: str) -> tuple[str, ...]:
    """The tables of a namespace, if there is one, by a beginning of their names."""
    if not session.catalog.databaseExists(namespace):
        return ()
    names = [row["tableName"] for row in session.sql(f"SHOW TABLES IN {namespace}").collect()]
    return tuple(f"{namespace}.{quoted(name)}" for name in names if name.startswith(prefix))


def create(
    session: SparkSession, address: Address, columns: Mapping[str, str], said: Mapping[str, str]
) -> None:
    """Make a table with these columns and properties, if there is none."""
    if address.namespace is not None:
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {address.namespace}")
    listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in said.items())
    session.sql(
        f"CREATE TABLE IF NOT EXISTS {address.name} ({column_list(columns)})"
        f" USING iceberg TBLPROPERTIES ({listed})"
    )


def catalog_of(target: str) -> Catalog:
    """The catalog of a target: a path or URI, or `catalog:NAME.NAMESPACE`."""
    if target.startswith(CATALOG_PREFIX):
        return Named(tuple(target.removeprefix(CATALOG_PREFIX).split(".")))
    return Folder(target.rstrip("/"))
