#!/usr/bin/env bash
# Every test, in groups beside each other: all of them wait for other things than a core.
set -uo pipefail
cd "$(dirname "$0")/.."

# The tests start thousands of Pythons: each would compile what it imports anew, where the environment
# forbids to keep what was compiled. It is kept apart from the sources, which stay as they are.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="${PYTHONPYCACHEPREFIX:-$PWD/.cache/python}"
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

# Most sessions here live for seconds: compiling less and collecting simply lets a JVM start sooner.
# Compiling less would also mean a small code cache, which the one long session would sweep for ever.
short="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS:-$short}"

logs=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$logs"' EXIT

group() { # group NAME TEST_SH_ARGUMENTS...: run it, and show what it said when it has ended
  local name=$1 log
  shift
  log=$(mktemp -p "$logs")
  tools/test.sh "$@" --durations=15 >"$log" 2>&1 &
  trap "kill $! 2>/dev/null; exit 1" TERM
  wait $! || echo "$name" >>"$logs/failed"
  times >"$log.cpu"
  {
    flock 9
    echo "==> $name, CPU time $(tail -n 1 "$log.cpu")"
    cat "$log"
  } 9>"$logs/turn"
}

spark_archive() { # a JVM that finds its classes in it starts sooner still, one without it all the same
  local archive
  archive=$(.venv/bin/python tools/spark_archive.py) &&
    echo " -XX:SharedArchiveFile=$archive -Xlog:cds=off -Xlog:cds+dynamic=off"
}

next() { # next NAME TEST_SH_ARGUMENTS...: run it as soon as fewer than three groups run
  while [ "$(jobs -rp | wc -l)" -ge 3 ]; do wait -n; done
  group "$@" &
}

# The longest come first: one that began late would have a core for itself at the end.
echo "==> groups of tests, three at a time: each is shown when it has ended"
plain=$JDK_JAVA_OPTIONS
next "all other tests" -m "not spark" tests --ignore=tests/chaos --ignore=tests/integration/postgres
JDK_JAVA_OPTIONS+=$(spark_archive)
next "tables with Spark, A to L" -m "spark and not iceberg" tests/spark/test_[a-l]*.py
next "tables with Spark, M to Z" -m "spark and not iceberg" tests/spark/test_[m-z]*.py
next "commands, pages and drivers with Spark" -m spark tests --ignore=tests/spark
JDK_JAVA_OPTIONS=$plain
next "PostgreSQL" -m "not spark" tests/integration/postgres
next "the kill tests" -m "not spark" tests/chaos
next "tables with Iceberg" iceberg
wait
if [ -e "$logs/failed" ]; then
  echo "==> failed: $(paste -sd, "$logs/failed")"
  exit 1
fi
