from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from headwater.observe import configure_logs
from headwater.secret import Secret


@pytest.fixture
def _restored() -> Iterator[None]:
    root = logging.getLogger("headwater")
    before = (root.handlers[:], root.level, root.propagate)
    yield
    root.handlers[:], root.level, root.propagate = before


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("_restored")
def test_logs_are_json_lines_when_not_on_a_terminal() -> None:
    stream = io.StringIO()
    configure_logs(stream=stream)
    logging.getLogger("headwater.capture").info("state changed", extra={"state": "streaming"})
    line = json.loads(stream.getvalue())
    assert line["event"] == "state changed"
    assert line["state"] == "streaming"
    assert line["level"] == "info"
    assert line["logger"] == "headwater.capture"
    assert line["timestamp"].endswith("Z")


@pytest.mark.usefixtures("_restored")
def test_logs_are_readable_when_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = _Terminal()
    configure_logs(stream=stream)
    logging.getLogger("headwater.capture").warning("trying again", extra={"code": "source-busy"})
    assert "trying again" in stream.getvalue()
    assert "code=source-busy" in stream.getvalue()
    assert "\x1b[" not in stream.getvalue()


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("json_lines", [True, False])
def test_logs_hold_no_secret_when_one_is_in_a_message_a_field_or_a_traceback(
    json_lines: bool,
) -> None:
    """INV-12."""
    secret = Secret("hunter2\"'x")
    stream = io.StringIO()
    configure_logs(stream=stream, json_lines=json_lines)
    log = logging.getLogger("headwater.test")
    log.info("password is %s", secret.reveal(), extra={"url": f"pg://bob:{secret.reveal()}@db/x"})
    try:
        raise ValueError(f"cannot use {secret.reveal()}")
    except ValueError:
        log.exception("failed", extra={"deep": {"list": [secret.reveal()]}})
    assert "hunter2" not in stream.getvalue()
    assert "bob" not in stream.getvalue()
    assert "***" in stream.getvalue()
    if json_lines:
        assert all(json.loads(line) for line in stream.getvalue().splitlines())


@pytest.mark.usefixtures("_restored")
def test_logs_have_one_handler_when_configured_twice() -> None:
    stream = io.StringIO()
    configure_logs(stream=io.StringIO())
    configure_logs(stream=stream, level="warning")
    logging.getLogger("headwater").info("no")
    logging.getLogger("headwater").warning("yes")
    assert len(stream.getvalue().splitlines()) == 1
