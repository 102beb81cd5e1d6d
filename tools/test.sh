#!/usr/bin/env bash
# Every test. Those that need Spark run beside the others: both wait for other things than a core.
set -uo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m headwater.app.jars || exit

if [ $# -gt 0 ]; then
  exec .venv/bin/pytest -q "$@"
fi

spark_log=$(mktemp)
trap 'kill "$spark" 2>/dev/null; rm -f "$spark_log"' EXIT
.venv/bin/pytest -q --durations=15 -m spark tests >"$spark_log" 2>&1 &
spark=$!

echo "==> the tests without Spark (those with Spark run beside them and are shown afterwards)"
.venv/bin/pytest -q --durations=15 -m "not spark" tests
others_ended=$?
echo "==> the tests with Spark"
wait "$spark"
spark_ended=$?
cat "$spark_log"
exit $((others_ended ? others_ended : spark_ended))
