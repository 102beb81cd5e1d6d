#!/usr/bin/env bash
# Every test, in groups beside each other: all of them wait for other things than a core.
set -uo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m headwater.app.jars delta kafka avro || exit

if [ "${1:-}" = iceberg ]; then # Spark 4.1: the newest that Iceberg has a build for
  shift
  PYTHONPATH=$(tools/spark41.sh) || exit
  export PYTHONPATH
  exec .venv/bin/pytest -q tests/spark/iceberg "$@"
fi
if [ $# -gt 0 ]; then
  exec .venv/bin/pytest -q "$@"
fi

# Sessions here live for seconds: compiling less and collecting simply lets a JVM start sooner.
export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}"

names=("PostgreSQL and the kill tests" "all other tests" "the tests with Spark" "the tests with Iceberg")
pids=()
logs=$(mktemp -d)
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$logs"' EXIT

start() { # start PYTEST_ARGUMENTS...: the next group, in the background
  .venv/bin/pytest -q --durations=15 "$@" >"$logs/${#pids[@]}" 2>&1 &
  pids+=($!)
}
echo "==> ${names[0]}, ${names[1]} and ${names[2]}, then ${names[3]}: each is shown when it has ended"
start -m "not spark" tests/chaos tests/integration/postgres
start -m "not spark" tests --ignore=tests/chaos --ignore=tests/integration/postgres
plain=$JDK_JAVA_OPTIONS
# A JVM that finds its classes in an archive starts sooner still; one without it starts all the same.
if archive=$(.venv/bin/python tools/spark_archive.py); then
  JDK_JAVA_OPTIONS+=" -XX:SharedArchiveFile=$archive -Xlog:cds=off -Xlog:cds+dynamic=off"
fi
start -m "spark and not iceberg" tests

ended=0
for group in 1 0 2 3; do
  wait "${pids[$group]}" || ended=$?
  if [ "$group" = 1 ]; then # the shortest group makes room for the last
    JDK_JAVA_OPTIONS=$plain tools/test.sh iceberg --durations=15 >"$logs/3" 2>&1 &
    pids+=($!)
  fi
  echo "==> ${names[$group]}"
  cat "$logs/$group"
done
exit "$ended"
