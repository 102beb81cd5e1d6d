#!/usr/bin/env bash
# Every test, in three groups beside each other: all of them wait for other things than a core.
set -uo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m headwater.app.jars || exit

if [ $# -gt 0 ]; then
  exec .venv/bin/pytest -q "$@"
fi

# Sessions here live for seconds: compiling less and collecting simply lets a JVM start sooner.
export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}"

names=("the tests with Spark" "the kill tests" "all other tests")
pids=()
logs=$(mktemp -d)
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$logs"' EXIT

start() { # start PYTEST_ARGUMENTS...: the next group, in the background
  .venv/bin/pytest -q --durations=15 "$@" >"$logs/${#pids[@]}" 2>&1 &
  pids+=($!)
}
echo "==> ${names[0]}, ${names[1]} and ${names[2]}: each is shown when it has ended"
start -m spark tests
start -m "not spark" tests/chaos
start -m "not spark" tests --ignore=tests/chaos

ended=0
for group in 2 1 0; do
  wait "${pids[$group]}" || ended=$?
  echo "==> ${names[$group]}"
  cat "$logs/$group"
done
exit "$ended"
