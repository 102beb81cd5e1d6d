"""`python -m headwater` and the `headwater` script: where the two doors meet.

The command line imports neither the status server nor the test kit; here, above all, they are
handed to it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.cli.doors import Doors, RunningServer
from headwater.cli.main import main as run_command

if TYPE_CHECKING:
    from headwater.app.config import ServerSettings
    from headwater.app.status import StatusView


def main() -> int:
    """Run one command; returns its exit code."""
    return run_command(doors=Doors(open_server=_open_server, replay=_replay))


def _open_server(settings: ServerSettings, view: StatusView) -> RunningServer:
    try:
        from headwater.server import StatusServer
    except ModuleNotFoundError as exc:
        from headwater.errors import MachineError

        raise MachineError("server-missing", f"{exc.name} is not installed") from exc
    return StatusServer(settings, view)


def _replay(fixture: Path, golden: Path | None, *, update: bool) -> dict[str, Any]:
    from headwater.testing.replay import prove

    return prove(fixture, golden, update=update)


if __name__ == "__main__":
    sys.exit(main())
