"""`make jars`: fetch what Spark needs once, so that later starts need no network."""

from __future__ import annotations

import sys

from headwater.errors import HeadwaterError


def main() -> int:
    """Fetch the jars and say where they are."""
    from headwater.spark.jars import cache_folder, ensure

    try:
        jars = ensure()
    except HeadwaterError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    sys.stdout.write(f"{len(jars)} jars in {cache_folder()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
