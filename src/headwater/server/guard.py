"""Who may ask: host names on loopback, a bearer token beyond it, never another web page."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.app.config import LOOPBACK
from headwater.secret import Secret

_OPEN = frozenset({"/livez"})
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """ASGI middleware. `hosts` None means that any host name is answered: a token protects."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None, token: Secret | None) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] != "http":
            return  # nothing here speaks another protocol
        refusal = self._refusal(Headers(scope=scope), scope["path"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers, path: str) -> JSONResponse | None:
        if self._hosts is not None and not _allowed(headers.get("host", ""), self._hosts):
            return _error(421, "this host name is not served here")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return _error(403, "other web pages may not ask")
        if self._token is not None and path not in _OPEN and not self._authorised(headers):
            response = _error(401, "a bearer token is required")
            response.headers["www-authenticate"] = "Bearer"
            return response
        return None

    def _authorised(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        expected = b"" if self._token is None else self._token.reveal().encode()
        return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), expected)


def loopback_hosts(host: str) -> frozenset[str]:
    """The host names under which a loopback listener is reached."""
    return LOOPBACK | {host}


def _allowed(header: str, hosts: frozenset[str]) -> bool:
    """The Host header without its port; IPv6 addresses stand in brackets."""
    try:
        name = urlsplit(f"//{header}").hostname
    except ValueError:
        return False
    return name is not None and name in hosts


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
