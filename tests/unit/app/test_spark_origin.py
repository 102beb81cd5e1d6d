"""Where a read's events come from: logs and URLs told apart, no password in an option."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.app.spark.origin import Origin, origin
from headwater.errors import ConfigError
from headwater.spark.source.options import Options

SERVER = "postgresql://capture@db.example.org/crm"


def _origin(**given: str) -> Origin:
    return origin(Options.parse(given))


def test_path_is_a_log_unless_it_has_the_form_of_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///data/shop.db")
    assert _origin(path="shop.hwlog") == _origin(path=f"file://{tmp_path}/shop.hwlog")
    assert _origin(path="shop.hwlog").log == str(tmp_path / "shop.hwlog")
    assert _origin(path="shop.hwlog").url is None
    for url in ("sqlite:///data/shop.db", "${DATABASE_URL}"):
        assert _origin(path=url) == _origin(url=url)
        found = _origin(path=url)
        assert found.log == str(tmp_path / "data" / "shop.hwlog")
        assert found.source_url().path == tmp_path / "data" / "shop.db"
    assert _origin(url=SERVER, log="a/b.hwlog").log == str(tmp_path / "a" / "b.hwlog")
    assert _origin(url=SERVER, checkpointlocation="file:/c/d/").log == "/c/d.hwlog"


def test_capture_is_told_what_the_options_say() -> None:
    found = _origin(url=SERVER, log="x", tables="a,b.*", slot="mine", snapshot="never").options
    assert (found.tables, found.snapshot, found.on_gap) == (("a", "b.*"), "never", "halt")
    assert (found.postgres.slot, found.postgres.publication) == ("mine", "mine")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "path is missing"),
        ({"path": "x", "url": "sqlite:///y"}, "url and path exclude each other"),
        ({"path": "x", "slot": "y"}, "slot goes with the URL of a database"),
        ({"url": SERVER}, "the option log is missing"),
        ({"url": SERVER, "checkpointlocation": "s3://b/c"}, "a file of this machine"),
        ({"url": SERVER, "log": "x", "ongap": "skip"}, "onGap cannot be 'skip'"),
        ({"url": "postgresql://u:s3cret@h/d", "log": "x"}, "a password is not written"),
        ({"path": "postgresql://u:s3cret@${HOST}/d", "log": "x"}, "a password is not written"),
        ({"url": "postgresql://h/d?password=s3cret", "log": "x"}, "a password is not written"),
    ],
)
def test_wrong_origin_is_refused_without_its_password(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        _origin(**given)
    assert caught.value.code == "spark-option"
    assert "s3cret" not in str(caught.value)


def test_password_may_be_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "s3cret")
    found = _origin(url="postgresql://u:${PW}@h/d", log="x")
    assert "s3cret" not in repr(found)
    server = found.source_url().server
    assert server is not None
    assert [secret.reveal() for secret in server.secrets] == ["s3cret"]
