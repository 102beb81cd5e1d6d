#!/usr/bin/env bash
# Submits job.py with what it needs.  ./submit.sh LOG TARGET [--every SECONDS]
#
#   MASTER           where it runs; two executors on this machine if it is not set
#   JOB              another script, as seen from this folder
#   PACKAGES         more packages than Delta's, such as Kafka's connector: a list with commas
#   HEADWATER_JARS   jars that are there already, instead of a download: a list with commas
#   SUBMIT_OPTIONS   anything else that spark-submit takes
set -euo pipefail
cd "$(dirname "$0")"

# The Python that has Headwater and PySpark. Executors look for it under the same path.
export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$(command -v python3)}

if [ -n "${HEADWATER_JARS:-}" ]; then
  jars=(--jars "$HEADWATER_JARS")
else
  jars=(--packages "io.delta:delta-spark_4.2_2.13:4.4.0${PACKAGES:+,$PACKAGES}")
fi

exec "$(dirname "$PYSPARK_PYTHON")/spark-submit" \
  --master "${MASTER:-local-cluster[2,1,1024]}" \
  "${jars[@]}" \
  --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension \
  --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog \
  --conf spark.sql.session.timeZone=UTC \
  ${SUBMIT_OPTIONS:-} \
  "${JOB:-job.py}" "$@"
