"""Report the longest files, and refuse one that has outgrown its idea."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOFT, HARD = 350, 500


def main() -> int:
    sizes = {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for folder in ("src", "tests", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if "_generated" not in path.parts
    }
    longest = sorted(sizes.items(), key=lambda item: -item[1])
    total = sum(sizes.values())
    print(f"sizes: {len(sizes)} files, {total} lines, longest:")
    for path, lines in longest[:5]:
        print(f"  {lines:4d} {path}")
    over = [path for path, lines in longest if lines > HARD]
    for path in over:
        print(f"sizes: {path} has more than {HARD} lines: it holds a second idea")
    for path, lines in longest:
        if SOFT < lines <= HARD:
            print(f"sizes: {path} has {lines} lines: look for the second idea")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
