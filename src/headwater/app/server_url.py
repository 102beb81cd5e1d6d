"""URLs of database servers, taken apart as PostgreSQL's own library takes them apart.

What is printed is put together from the parts that may be seen, never by cutting the password out
of the text (INV-12). A URL whose parts cannot be told apart is refused: an unescaped `@` or `/` in
a password would spill into the host or the database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from headwater.secret import MASK, Secret

SCHEME = "postgresql"
SCHEMES = frozenset({SCHEME, "postgres"})
_PARTS = re.compile(
    r"//(?:(?P<userinfo>[^@/]*)@)?(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
# One host or several, each with its port.
_HOST = r"(?:\[[^\]]*\]|[^:\[\],]*)(?::[0-9]*)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
# Other parameters may hold secrets, or be a secret's misspelt name.
_SHOWN = ("host", "port", "sslmode", "sslrootcert", "target_session_attrs")
_UNREADABLE = (
    "the URL cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and in USER and "
    "PASSWORD write @ as %40, / as %2F, : as %3A and % as %25"
)


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A server's URL. `secrets` are kept so that whoever writes logs knows what to hide."""

    user: str
    hosts: str
    database: str
    shown: tuple[tuple[str, str], ...] = ()
    secrets: tuple[Secret, ...] = ()

    @classmethod
    def parse(cls, rest: str) -> ServerUrl:
        """Read what follows the scheme; ValueError says what is wrong without quoting it."""
        found = _PARTS.fullmatch(rest)
        if found is None or "@" in found["hosts"] + (found["database"] or ""):
            raise ValueError(_UNREADABLE)
        if not _HOSTS.fullmatch(found["hosts"]):
            raise ValueError(_UNREADABLE)
        user, _, password = (found["userinfo"] or "").partition(":")
        given = _query(found["query"] or "")
        passwords = (unquote(password), given.get("password", ""), given.get("sslpassword", ""))
        return cls(
            user=unquote(user) or given.get("user", ""),
            hosts=found["hosts"],
            database=unquote(found["database"] or "") or given.get("dbname", ""),
            shown=tuple((name, given[name]) for name in _SHOWN if name in given),
            secrets=tuple(Secret(text) for text in passwords if text),
        )

    def __str__(self) -> str:
        mask = f":{MASK}" if self.secrets else ""
        user = f"{quote(self.user, safe='')}{mask}@" if self.user or mask else ""
        query = "&".join(f"{name}={quote(value, safe='/,:')}" for name, value in self.shown)
        database = quote(self.database, safe="")
        return f"{SCHEME}://{user}{self.hosts}/{database}{f'?{query}' if query else ''}"


def _query(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split("&") if part)
    return {unquote(name): unquote(value) for name, _, value in pairs}
