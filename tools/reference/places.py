"""Where things lie in the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "headwater"
TARGET = ROOT / "docs" / "reference"
