#!/usr/bin/env bash
# Every test, tier by tier, so that a failure says which evidence is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m headwater.app.jars
exec .venv/bin/pytest -q --durations=15 tests "$@"
