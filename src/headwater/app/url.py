"""Source URLs: which kind of database, and where; printed without the password (INV-12).

`sqlite:///shop.db` is relative to the configuration file (or to the working directory), and
`sqlite:////var/shop.db`, with four slashes, is absolute. A plain path means a SQLite file.
`postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (or `postgres://`) is read by PostgreSQL's own
library, with every parameter that it knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from headwater.app.server_url import SCHEME, SCHEMES, ServerUrl
from headwater.secret import MASK, Secret

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.DOTALL)
# To the last @: a password may hold every other sign, escaped or not.
_PASSWORD = re.compile(r"(//[^/@:]*:).*@", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SourceUrl:
    """A parsed URL. `path` is absolute for file databases; `server` is there for servers."""

    scheme: str
    full: Secret
    path: Path | None = None
    server: ServerUrl | None = None

    @classmethod
    def parse(cls, text: str, directory: Path | None = None) -> SourceUrl:
        """Read a URL or a plain path; ValueError says what is wrong with it."""
        found = _SCHEME.fullmatch(text)
        scheme, rest = (found[1], found[2]) if found else ("sqlite", f"///{text}")
        if scheme in SCHEMES:
            return cls(SCHEME, Secret(text), server=ServerUrl.parse(rest))
        if scheme != "sqlite":
            return cls(scheme, Secret(text))
        path = _file(unquote(rest) if found else rest)
        return cls(scheme, Secret(text), (directory or Path.cwd()) / path)

    @property
    def name(self) -> str:
        """What the database is called: the file's name without its ending, or the server's."""
        if self.server is not None:
            return self.server.database or self.server.user
        return "" if self.path is None else self.path.stem

    def __str__(self) -> str:
        if self.path is not None:
            return f"{self.scheme}:///{self.path}"
        if self.server is not None:
            return str(self.server)
        return _PASSWORD.sub(rf"\g<1>{MASK}@", self.full.reveal())


def _file(rest: str) -> Path:
    if rest.startswith("///"):
        rest = rest[3:]
    elif rest.startswith("//"):
        raise ValueError("a SQLite URL has three slashes, or four for an absolute path")
    if not rest or rest == ":memory:":
        raise ValueError("the SQLite URL names no file; write sqlite:///path/to/file.db")
    return Path(rest).expanduser()
