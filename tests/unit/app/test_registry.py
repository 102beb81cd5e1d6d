"""Names of parts, tables and URLs: what exists, and what is said when it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headwater.app.config import SinkSettings
from headwater.app.registry import (
    Registry,
    default_registry,
    make_format,
    make_sink,
    open_source,
    parse_url,
)
from headwater.app.source_options import SourceOptions
from headwater.app.tables import choose_tables, require_names
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError
from headwater.event import TableId

TABLES = tuple(TableId(None, name) for name in ("customers", "orders", "order_items"))


def test_registry_suggests_a_name_when_one_is_close() -> None:
    with pytest.raises(ConfigError) as caught:
        make_format("headwater-jsn")
    assert caught.value.code == "format-unknown"
    assert "headwater-json" in caught.value.hint


def test_registry_lists_what_exists_when_nothing_is_close() -> None:
    with pytest.raises(ConfigError) as caught:
        open_source("oracle://scott:tiger@host/db")
    assert caught.value.code == "source-unknown"
    assert caught.value.hint == "available: postgresql, sqlite"
    assert "tiger" not in str(caught.value)


def test_registry_takes_a_part_of_your_own_when_registered() -> None:
    registry = Registry()
    registry.register_source("script", lambda _url, options: open_source("x.db", options))
    source = registry.source(SourceUrl.parse("script:x"), SourceOptions())
    assert source.capabilities.snapshot
    assert registry.names()["sources"] == ("script",)


def test_registry_refuses_when_a_binary_format_would_go_to_the_terminal() -> None:
    with pytest.raises(ConfigError, match="binary"):
        make_sink(SinkSettings(name="a", type="stdout", format="headwater-avro"))


def test_registry_loads_no_part_when_imported() -> None:
    code = (
        "import sys, headwater.app.registry as r; r.default_registry().names();"
        "heavy = ('pyspark', 'headwater.source', 'fastavro');"
        "print([m for m in sys.modules if m.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_default_registry_is_one_when_asked_twice() -> None:
    assert default_registry() is default_registry()


@pytest.mark.parametrize(
    ("patterns", "exclude", "chosen"),
    [
        (("*",), (), ("customers", "orders", "order_items")),
        (("order*",), ("order_items",), ("orders",)),
        (("ORDERS", "Cust*"), (), ("customers", "orders")),
    ],
)
def test_tables_are_chosen_when_patterns_match(
    patterns: tuple[str, ...], exclude: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    assert tuple(table.name for table in choose_tables(patterns, exclude, TABLES)) == chosen


def test_tables_are_refused_when_one_of_several_patterns_matches_nothing() -> None:
    with pytest.raises(ConfigError) as caught:
        choose_tables(("orders", "custmers"), (), TABLES)
    assert caught.value.hint == "did you mean customers?"


def test_plain_names_must_exist_when_globs_may_wait() -> None:
    require_names(("future_*", "orders"), TABLES)
    with pytest.raises(ConfigError, match="'ordres'"):
        require_names(("ordres",), TABLES)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sqlite:///shop.db", "/etc/shop.db"),
        ("sqlite:////var/shop.db", "/var/shop.db"),
        ("sqlite:shop.db", "/etc/shop.db"),
        ("shop.db", "/etc/shop.db"),
        ("/var/shop.db", "/var/shop.db"),
        ("sqlite:///with%20space.db", "/etc/with space.db"),
        ("with%20percent.db", "/etc/with%20percent.db"),
    ],
)
def test_url_names_a_file_when_it_is_sqlite(text: str, path: str) -> None:
    assert SourceUrl.parse(text, Path("/etc")).path == Path(path)


@pytest.mark.parametrize(
    "text", ["sqlite://shop.db", "sqlite:///", "sqlite:///:memory:", "sqlite:"]
)
def test_url_is_refused_when_it_names_no_file(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_url(text)
    assert caught.value.code == "source-unknown"


@pytest.mark.parametrize(
    "text", ["postgres://u:CANARY@h/d", "mysql://u:CANARY@h:3306/d?x=1", "x://:CANARY@h"]
)
def test_url_hides_its_password_when_printed(text: str) -> None:
    url = SourceUrl.parse(text)
    assert "CANARY" not in f"{url} {url!r}"
    assert url.full.reveal() == text
