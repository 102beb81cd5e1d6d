"""Where the events of a read come from: a log, or a database that is captured into one.

A URL travels in Spark's plans, so it holds no password (INV-12): references such as
`${DATABASE_URL}` or `${file:/run/secrets/url}` are resolved by the process that captures.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from headwater.app.registry import parse_url
from headwater.app.source_options import PostgresOptions, SourceOptions
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError
from headwater.spark.source.options import Options

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*:|\$\{", re.IGNORECASE)
_CHOICES = {"snapshot": ("initial", "never"), "onGap": ("halt", "resnapshot", "accept")}


@dataclass(frozen=True, slots=True)
class Origin:
    """A log by its path, and the text of the URL if a database is to be captured into it."""

    log: str
    url: str | None
    options: SourceOptions

    def source_url(self) -> SourceUrl:
        """The URL with its references resolved, for the process that captures."""
        if self.url is None:
            raise ValueError("a log that is named has no URL")
        return _resolved(self.url)


def origin(options: Options) -> Origin:
    """Where a read's events come from; a coded error names the option that is wrong."""
    given = dict(options.given)
    url = given.pop("url", None)
    if url is not None and options.path:
        raise ConfigError("spark-option", "url and path exclude each other")
    if url is None and _URL.match(options.path):
        url = options.path
    if url is None:
        return _of_log(options, given)
    _require_no_secret(url)
    finer = SourceOptions(
        tables=options.tables or ("*",),
        snapshot=_choice(given, "snapshot"),
        on_gap=_choice(given, "onGap"),
        postgres=PostgresOptions(slot=given.get("slot"), publication=given.get("slot")),
    )
    return Origin(_log_path(given, url), url, finer)


def _of_log(options: Options, given: dict[str, str]) -> Origin:
    if given:
        raise ConfigError("spark-option", f"{next(iter(given))} goes with the URL of a database")
    if not options.path:
        raise ConfigError("spark-option", "the option path is missing: which log?")
    return Origin(_local(options.path), None, SourceOptions())


def _require_no_secret(url: str) -> None:
    server = parse_url(url).server if _URL.match(url) and not url.startswith("${") else None
    if server is not None and any("${" not in secret.reveal() for secret in server.secrets):
        raise ConfigError(
            "spark-option",
            "a password is not written in an option, which Spark shows in its plans",
            hint="write url as ${DATABASE_URL} or ${file:/path}, or put the password into a"
            " file that PGPASSFILE names",
        )


def _log_path(given: dict[str, str], url: str) -> str:
    """As named, else beside Spark's checkpoint, else beside the database if that is a file."""
    if "log" in given:
        return _local(given["log"])
    if "checkpointLocation" in given:
        return f"{_local(given['checkpointLocation'])}.hwlog"
    path = _resolved(url).path
    if path is not None:
        return str(path.with_suffix(".hwlog").absolute())
    raise ConfigError(
        "spark-option",
        "the option log is missing: into which file is the database captured?",
        hint="name it, or give checkpointLocation on the reader too: the log then lies beside it",
    )


def _local(text: str) -> str:
    """An absolute path: workers may have another directory."""
    plain = re.sub(r"^file:(//)?(?=/)", "", text.rstrip("/"))
    if "://" in plain:
        raise ConfigError("spark-option", f"the log is a file of this machine, not {plain}")
    return str(Path(plain).absolute())


def _choice(given: dict[str, str], name: str) -> str:
    allowed = _CHOICES[name]
    text = given.get(name, allowed[0])
    if text not in allowed:
        raise ConfigError(
            "spark-option", f"{name} cannot be {text!r}", hint=f"write {', '.join(allowed)}"
        )
    return text


def _resolved(url: str) -> SourceUrl:
    if "$" in url:
        # With it comes all that reads configurations, and every worker imports this module.
        from headwater.app.config.interpolate import interpolate

        url = interpolate(url, os.environ, Path.cwd())
    return parse_url(url)
