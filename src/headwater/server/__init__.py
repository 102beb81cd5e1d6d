"""Status and metrics over HTTP: a door that opens into `app`.

- routes.py: `/livez`, `/readyz`, `/metrics`, `/api/status`. guard.py: who may ask.
- thread.py: `StatusServer`, which listens beside the pipeline.

It listens on this machine only, unless a token protects it; on loopback it answers only to loopback
host names, so that a web page cannot reach it through a name of its own. Nothing here writes.
May import: app (errors and secret for their types).
"""

from headwater.server.thread import StatusServer

__all__ = ["StatusServer"]
