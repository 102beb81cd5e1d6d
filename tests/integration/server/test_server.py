"""The status server on a real socket."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from headwater.app.config import ServerSettings
from headwater.app.status import Readiness
from headwater.errors import MachineError
from headwater.server import StatusServer


class ScriptedView:
    """A healthy pipeline."""

    def status(self) -> dict[str, Any]:
        return {"name": "shop"}

    def readiness(self) -> Readiness:
        return Readiness(ready=True)

    def metrics_text(self) -> str:
        return "headwater_log_head 7\n"


def test_server_answers_on_the_port_it_names_when_any_port_was_asked_for() -> None:
    server = StatusServer(ServerSettings(port=0), ScriptedView())
    try:
        assert server.address.startswith("http://127.0.0.1:")
        assert httpx.get(f"{server.address}/api/status").json() == {"name": "shop"}
        assert httpx.get(f"{server.address}/metrics").text == "headwater_log_head 7\n"
        assert httpx.get(f"{server.address}/livez").status_code == 200
    finally:
        server.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/livez")


def test_server_names_the_address_when_the_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MachineError) as caught:
            StatusServer(ServerSettings(port=port), ScriptedView())
    assert caught.value.code == "server-bind"
    assert caught.value.where == f"127.0.0.1:{port}"
