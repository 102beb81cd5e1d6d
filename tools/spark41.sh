#!/usr/bin/env bash
# Spark 4.1 beside the locked 4.2, for what has no build for 4.2: Iceberg. Prints its folder.
# With that folder first on PYTHONPATH, everything else comes from .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.cache/spark41-$(sha256sum tools/spark41.lock | cut -c1-12)
if [ ! -d "$folder" ]; then
  mkdir -p .cache
  draft=$(mktemp -d .cache/spark41.XXXXXX)
  trap 'rm -rf "$draft"' EXIT
  .venv/bin/uv pip install -q --python .venv/bin/python --no-deps --require-hashes \
    --target "$draft" -r tools/spark41.lock
  PYTHONPATH=$draft .venv/bin/python -m headwater.app.jars delta iceberg >&2
  mv -T "$draft" "$folder"
  trap - EXIT
fi
echo "$PWD/$folder"
