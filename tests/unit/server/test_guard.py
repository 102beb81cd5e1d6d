"""Who may ask the status server, route by route."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from headwater.app.config import ServerSettings
from headwater.app.status import Readiness
from headwater.errors import ConfigError
from headwater.secret import Secret
from headwater.server.routes import status_app

PATHS = ["/livez", "/readyz", "/metrics", "/api/status"]


class ScriptedView:
    """A pipeline that answers what it was told."""

    def __init__(self, readiness: Readiness | None = None) -> None:
        self._readiness = readiness or Readiness(ready=True)

    def status(self) -> dict[str, Any]:
        return {"name": "shop", "state": "streaming"}

    def readiness(self) -> Readiness:
        return self._readiness

    def metrics_text(self) -> str:
        return "headwater_log_head 7\n"


class Client:
    """Requests straight into the application, without a socket."""

    def __init__(self, app: Starlette, host: str) -> None:
        self._app = app
        self._host = host

    def request(
        self, method: str, path: str, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            base = f"http://{self._host}"
            async with httpx.AsyncClient(transport=transport, base_url=base) as http:
                return await http.request(method, path, headers=headers)

        return asyncio.run(ask())

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.request("GET", path, headers)


def client(settings: ServerSettings, host: str = "127.0.0.1:8321") -> Client:
    return Client(status_app(ScriptedView(), settings), host)


def test_paths_of_this_test_are_all_routes_when_one_is_added() -> None:
    app = status_app(ScriptedView(), ServerSettings())
    assert [route.path for route in app.routes if isinstance(route, Route)] == PATHS


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost", "[::1]:9", "LOCALHOST:1"])
def test_guard_answers_when_the_host_is_this_machine(path: str, host: str) -> None:
    response = client(ServerSettings()).get(path, headers={"host": host})
    assert response.status_code == 200
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil:8321", "", "[::1", "a@localhost@b"],
)
def test_guard_refuses_when_another_name_points_here(path: str, host: str) -> None:
    assert client(ServerSettings()).get(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
def test_guard_refuses_when_another_page_asks(path: str, origin: str) -> None:
    response = client(ServerSettings()).get(path, headers={"origin": origin})
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("path", [path for path in PATHS if path != "/livez"])
@pytest.mark.parametrize(
    "header", [None, "Bearer", "Bearer wrong", "Basic right", "right", "Bearer right "]
)
def test_guard_refuses_when_the_token_is_not_right(path: str, header: str | None) -> None:
    settings = ServerSettings(host="0.0.0.0", token=Secret("right"))
    headers = {} if header is None else {"authorization": header}
    response = client(settings, "shop.internal").get(path, headers=headers)
    assert response.status_code == 401
    assert "right" not in response.text


@pytest.mark.parametrize("path", PATHS)
def test_guard_answers_when_the_token_is_right(path: str) -> None:
    settings = ServerSettings(host="0.0.0.0", token=Secret("right"))
    response = client(settings, "shop.internal").get(
        path, headers={"authorization": "Bearer right"}
    )
    assert response.status_code == 200


def test_server_is_not_built_when_it_would_be_unprotected() -> None:
    unchecked = ServerSettings.model_construct(host="0.0.0.0", token=None, enabled=True, port=0)
    with pytest.raises(ConfigError) as caught:
        status_app(ScriptedView(), unchecked)
    assert caught.value.code == "server-unprotected"


def test_readyz_says_why_when_not_ready() -> None:
    view = ScriptedView(Readiness(ready=False, reason="capture failed: source-gap"))
    response = Client(status_app(view, ServerSettings()), "localhost").get("/readyz")
    assert response.status_code == 503
    assert "source-gap" in response.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", PATHS)
def test_server_refuses_when_asked_to_change_something(path: str, method: str) -> None:
    assert client(ServerSettings()).request(method, path).status_code == 405
