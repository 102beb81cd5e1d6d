"""`make jars`: fetch what Spark needs once, so that later starts need no network.

Arguments name what it is for, `delta`, `iceberg`, `kafka` or `avro`; without any it is Delta.
"""

from __future__ import annotations

import sys

from headwater.errors import HeadwaterError


def main(names: list[str]) -> int:
    """Fetch the jars and say where they are."""
    from headwater.spark.jars import SETS, cache_folder, ensure

    for name in names or ["delta"]:
        if name not in SETS:
            sys.stderr.write(f"there are jars for {', '.join(SETS)}, not for {name}\n")
            return 2
        try:
            jars = ensure(name)
        except HeadwaterError as exc:
            sys.stderr.write(f"{exc}\n")
            return exc.exit_code
        sys.stdout.write(f"{len(jars)} jars in {cache_folder(name)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
