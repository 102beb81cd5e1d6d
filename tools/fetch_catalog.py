"""The jar of Spark's own tests that has catalogs to try SQL on: from Maven Central, not installed.

python -m tools.fetch_catalog        fetch it if it is missing; print its place
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from headwater.spark.jars import cache_folder
from tools.central import download

_PACKAGE = "org.apache.spark:spark-catalyst_2.13:4.2.0:tests"
_SHA256 = "9f46cfb6d4cb5dff696b76f8af3db1ecfc56cbc43ffb0fa785ef947ac4ad2620"


def jar() -> Path:
    """The jar, fetched if it is missing, whole or not at all: a second process may do the same."""
    place = cache_folder().parent / "spark-catalyst_2.13-4.2.0-tests.jar"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=place.parent) as directory:
            download(Path(directory), _PACKAGE, "jar", _SHA256).rename(place)
    return place


if __name__ == "__main__":
    print(jar())
    sys.exit(0)
