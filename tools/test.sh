#!/usr/bin/env bash
# Every test, tier by tier, so that a failure says which evidence is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m headwater.app.jars
# Two workers: one has Spark to itself, the other the rest.
exec .venv/bin/pytest -q -n 2 --dist loadgroup --durations=25 tests "$@"
