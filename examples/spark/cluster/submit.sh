#!/usr/bin/env bash
# Submits job.py with what it needs.  ./submit.sh LOG TARGET [--every SECONDS]
#
#   MASTER           where it runs; two executors on this machine if it is not set
#   HEADWATER_JARS   jars of Delta that are there already, instead of a download: a list with commas
set -euo pipefail
cd "$(dirname "$0")"

# The Python that has Headwater and PySpark. Executors look for it under the same path.
export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$(command -v python3)}

if [ -n "${HEADWATER_JARS:-}" ]; then
  delta=(--jars "$HEADWATER_JARS")
else
  delta=(--packages io.delta:delta-spark_4.2_2.13:4.4.0)
fi

exec "$(dirname "$PYSPARK_PYTHON")/spark-submit" \
  --master "${MASTER:-local-cluster[2,1,1024]}" \
  "${delta[@]}" \
  --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \
  --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog \
  --conf spark.sql.session.timeZone=UTC \
  ${SUBMIT_OPTIONS:-} \
  job.py "$@"
