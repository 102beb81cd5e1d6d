"""`make jars`: fetch what Spark needs once, so that later starts need no network.

Arguments are table formats; without any it is Delta.
"""

from __future__ import annotations

import sys

from headwater.errors import HeadwaterError


def main(formats: list[str]) -> int:
    """Fetch the jars and say where they are."""
    from headwater.spark.jars import cache_folder, ensure

    for each in formats or ["delta"]:
        try:
            jars = ensure(each)
        except HeadwaterError as exc:
            sys.stderr.write(f"{exc}\n")
            return exc.exit_code
        sys.stdout.write(f"{len(jars)} jars in {cache_folder(each)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
