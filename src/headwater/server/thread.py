"""StatusServer: uvicorn in a thread of its own, so that a slow scrape never holds capture back."""

from __future__ import annotations

import socket
import threading
import time

import uvicorn

from headwater.app.config import ServerSettings
from headwater.app.status import StatusView
from headwater.errors import MachineError
from headwater.server.routes import status_app

_START_TIMEOUT_S = 10.0


class StatusServer:
    """Listens from construction on; the port is taken before anything else starts.

    `address` is its URL, with the port that was really taken.
    """

    def __init__(self, settings: ServerSettings, view: StatusView) -> None:
        app = status_app(view, settings)
        self._socket = _listen(settings)
        self.address = _address(self._socket)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="headwater-server", daemon=True
        )
        self._thread.start()
        self._wait_until_started()

    def stop(self) -> None:
        """Finish what is being answered and stop. Safe to call twice."""
        self._server.should_exit = True
        self._thread.join(timeout=5.0)
        self._socket.close()

    def _wait_until_started(self) -> None:
        give_up = time.monotonic() + _START_TIMEOUT_S
        while not self._server.started and self._thread.is_alive():
            if time.monotonic() > give_up:
                raise MachineError("server-bind", "the status server did not start in time")
            time.sleep(0.01)


def _listen(settings: ServerSettings) -> socket.socket:
    where = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise MachineError("server-bind", f"cannot listen: {reason}", where=where) from exc


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
