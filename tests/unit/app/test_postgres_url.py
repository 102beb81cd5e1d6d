"""PostgreSQL URLs: taken apart as libpq does, and never shown with what they hide (INV-12)."""

from __future__ import annotations

import pytest

from headwater.app.registry import parse_url
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError
from headwater.observe.redact import Redactor

CANARY = "CANARY-5f0c"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"postgresql://app:{CANARY}@db:5432/shop", "postgresql://app:***@db:5432/shop"),
        (f"postgres://app:{CANARY}@db/shop", "postgresql://app:***@db/shop"),
        (f"postgresql://app:{CANARY}?x#y@db/shop", "postgresql://app:***@db/shop"),
        (f"postgresql://db/shop?user=app&password={CANARY}", "postgresql://app:***@db/shop"),
        (f"postgresql://db/shop?pass%77ord={CANARY}", "postgresql://:***@db/shop"),
        (f"postgresql://app@db/shop?sslpassword={CANARY}", "postgresql://app:***@db/shop"),
        (f"postgresql://app@db/shop?made_up={CANARY}", "postgresql://app@db/shop"),
        (f"postgresql://app:{CANARY}@a:1,b:2/shop", "postgresql://app:***@a:1,b:2/shop"),
        (f"postgresql://app:{CANARY}@[::1]:5432/shop", "postgresql://app:***@[::1]:5432/shop"),
        ("postgresql:///shop?host=/run/pg", "postgresql:///shop?host=/run/pg"),
        (
            "postgresql://app@db/shop?sslmode=verify-full",
            "postgresql://app@db/shop?sslmode=verify-full",
        ),
    ],
)
def test_url_is_shown_without_secrets_when_it_is_of_a_server(text: str, shown: str) -> None:
    url = SourceUrl.parse(text)
    assert str(url) == shown
    assert CANARY not in f"{url!r} {url.server!r}"
    assert url.full.reveal() == text
    assert url.scheme == "postgresql"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://app:{CANARY}@x@db/shop",
        f"postgresql://app:{CANARY}/x@db/shop",
        f"postgresql://app:{CANARY}",
        f"postgresql://app:{CANARY}/shop",
        f"postgresql:app:{CANARY}@db/shop",
    ],
)
def test_url_is_refused_without_quoting_it_when_its_password_spills(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_url(text)
    assert "%40" in caught.value.message
    assert CANARY not in str(caught.value) + caught.value.where


def test_password_is_hidden_from_logs_when_it_stands_alone() -> None:
    url = SourceUrl.parse("postgresql://app:p%40ss-word@db/shop")
    assert Redactor().text("the password p@ss-word is wrong") == "the password *** is wrong"
    assert url.server is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("postgresql://app@db/shop", "shop"),
        ("postgresql://app@db/", "app"),
        ("postgresql://db?dbname=shop", "shop"),
        ("sqlite:///var/crm.db", "crm"),
    ],
)
def test_url_knows_the_name_of_its_database(text: str, name: str) -> None:
    assert SourceUrl.parse(text).name == name
