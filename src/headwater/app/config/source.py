"""The source section: where the database is, what to capture, and what only one kind understands.

A setting that the named database does not understand is a mistake at that setting's line, also
where its value is the default: whoever wrote it expects it to do something.
"""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ValidationInfo

from headwater.app.config.compose import composed_url
from headwater.app.config.quantity import Duration
from headwater.app.config.scalar import Bool, FilePath, Int, SecretText, Text, Url
from headwater.app.config.section import EVERY_TABLE, Globs, Section
from headwater.app.server_url import SCHEME as POSTGRES
from headwater.app.url import SourceUrl

KINDS = {"sqlite": "SQLite", POSTGRES: "PostgreSQL"}
ADDRESS = (
    *("host", "port", "user", "password", "database"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey"),
)
_OWN_MESSAGES = "headwater."
_ONLY = {
    "sqlite": frozenset({"poll_interval"}),
    POSTGRES: frozenset(
        {
            *("slot", "publication", "columns", "exclude_columns", "create", "failover"),
            *("transport", "streaming", "snapshot_workers", "snapshot_rows_per_s", "chunk_rows"),
            *("heartbeat_interval", "status_interval", "messages"),
        }
    ),
}


def _positive(value: Duration) -> Duration:
    if value.ms <= 0:
        raise ValueError("expected more than nothing, such as 5s")
    return value


def _of_applications(globs: Globs) -> Globs:
    own = [glob for glob in globs if glob.startswith(_OWN_MESSAGES)]
    if own:
        raise ValueError(f"{own[0]!r} names messages of Headwater itself, which are no events")
    return globs


ServerName = Annotated[Text, Field(pattern=r"^[a-z0-9_]{1,63}$")]
Interval = Annotated[Duration, AfterValidator(_positive)]


class SourceSettings(Section):
    """Which database is captured, and which tables of it.

    A database is named by `url`, or by `host`, `user`, `password`, `database` and so on where the
    password is kept apart. Settings from `slot` on are for PostgreSQL.
    """

    host: Annotated[
        Text | None, Field(min_length=1, description="The PostgreSQL server, instead of url")
    ] = None
    port: Annotated[Int | None, Field(ge=1, le=65535, description="Its port; default 5432")] = None
    user: Annotated[Text | None, Field(min_length=1, description="The capturing role")] = None
    password: Annotated[
        SecretText | None, Field(description="A reference: ${NAME} or ${file:/path}")
    ] = None
    database: Annotated[Text | None, Field(min_length=1, description="The database's name")] = None
    sslmode: Annotated[
        Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] | None,
        Field(description="How the connection is encrypted; verify-full checks the server's name"),
    ] = None
    sslrootcert: Annotated[
        FilePath | None, Field(description="Certificates that the server's is checked against")
    ] = None
    sslcert: Annotated[FilePath | None, Field(description="Certificate of the role")] = None
    sslkey: Annotated[FilePath | None, Field(description="Key of that certificate")] = None
    url: Annotated[
        Url, Field(description="The database: sqlite:///shop.db, or ${DATABASE_URL} for a server")
    ] = cast("SourceUrl", None)  # the check below makes it a URL, or an error
    tables: Annotated[
        Globs, Field(min_length=1, description="Tables to capture: names or globs such as order*")
    ] = EVERY_TABLE
    exclude: Annotated[Globs, Field(description="Tables to leave out; wins over tables")] = ()
    snapshot: Annotated[
        Literal["initial", "never"],
        Field(description="Read existing rows first (initial), or only changes from now on"),
    ] = "initial"
    on_gap: Annotated[
        Literal["halt", "resnapshot", "accept"],
        Field(description="When the source lost changes: stop, read the tables again, or go on"),
    ] = "halt"
    poll_interval: Annotated[
        Duration, Field(description="SQLite: longest wait before looking for changes again")
    ] = Duration(50)
    slot: Annotated[
        ServerName | None, Field(description="Replication slot; default headwater_NAME")
    ] = None
    publication: Annotated[
        ServerName | None, Field(description="Publication; default headwater_NAME")
    ] = None
    columns: Annotated[
        Globs, Field(description="Columns to capture: table.column globs; default all")
    ] = ()
    exclude_columns: Annotated[
        Globs, Field(description="Columns to leave out; a key's columns always stay")
    ] = ()
    messages: Annotated[
        Globs,
        AfterValidator(_of_applications),
        Field(description="Prefixes of logical messages to capture: names or globs; default none"),
    ] = ()
    create: Annotated[Bool, Field(description="Make slot and publication if missing")] = True
    failover: Annotated[
        Bool, Field(description="Make the slot one that standbys keep too (PostgreSQL 17)")
    ] = True
    transport: Annotated[
        Literal["auto", "replication", "sql"],
        Field(description="How the slot is read; auto: by SQL only if replication is refused"),
    ] = "auto"
    streaming: Annotated[
        Bool,
        Field(description="Receive large transactions while they run; never with messages"),
    ] = True
    snapshot_workers: Annotated[
        Int, Field(ge=1, le=32, description="Connections that read existing rows")
    ] = 2
    snapshot_rows_per_s: Annotated[
        Int | None, Field(ge=1, description="Most rows read in a second beside a running stream")
    ] = None
    chunk_rows: Annotated[
        Int, Field(ge=100, le=1_000_000, description="Rows of a snapshot in one read")
    ] = 20_000
    heartbeat_interval: Annotated[
        Interval, Field(description="How often the slot's health is looked at")
    ] = Duration(10_000)
    status_interval: Annotated[
        Interval, Field(description="How often the server is told what is durable")
    ] = Duration(5_000)

    @field_validator("url", mode="before")
    @classmethod
    def _one_address(cls, value: object, info: ValidationInfo) -> object:
        parts = {name: info.data[name] for name in ADDRESS if info.data.get(name) is not None}
        if value is None:
            return composed_url(parts)
        if parts:
            raise ValueError(f"the database is named twice, here and by {', '.join(parts)}")
        return value

    @model_validator(mode="after")
    def _fits_its_database(self) -> SourceSettings:
        mine = self.url.scheme
        wrong = [
            (name, KINDS[kind])
            for kind, names in _ONLY.items()
            for name in sorted(names & self.model_fields_set)
            if kind != mine and mine in KINDS
        ]
        if wrong:
            raise ValidationError.from_exception_data(
                "source", [_misfit(name, kind, KINDS[mine]) for name, kind in wrong]
            )
        return self


def _misfit(name: str, kind: str, mine: str) -> InitErrorDetails:
    error = PydanticCustomError(
        "misfit",
        "this is a setting of {kind} sources, and source.url names a {mine} database",
        {"kind": kind, "mine": mine, "suggestion": f"remove {name}, or correct source.url"},
    )
    return InitErrorDetails(type=error, loc=(name,), input=None)
