"""The routes: liveness, readiness, metrics and the status snapshot."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from headwater.app.config import LOOPBACK, ServerSettings
from headwater.app.status import StatusView
from headwater.errors import ConfigError
from headwater.server.guard import Guard, loopback_hosts

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def status_app(view: StatusView, settings: ServerSettings) -> Starlette:
    """The application; it refuses to be built where nothing would protect it."""
    local = settings.host in LOOPBACK
    if not local and settings.token is None:
        raise ConfigError(
            "server-unprotected", f"{settings.host} is not this machine alone", where="server.host"
        )

    # Plain functions: Starlette runs them in threads, and the view reads files.
    def livez(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    def readyz(_request: Request) -> Response:
        found = view.readiness()
        text = "ok\n" if found.ready else f"not ready: {found.reason}\n"
        return PlainTextResponse(text, 200 if found.ready else 503)

    def metrics(_request: Request) -> Response:
        return Response(view.metrics_text(), media_type=_PROMETHEUS)

    def status(_request: Request) -> Response:
        return JSONResponse(view.status())

    routes = [
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/api/status", status),
    ]
    hosts = loopback_hosts(settings.host) if local else None
    guard = Middleware(Guard, hosts=hosts, token=settings.token)
    return Starlette(routes=routes, middleware=[guard])
