"""Bugs to plant in a PostgreSQL worker, most of them found in other capture programs."""

from __future__ import annotations

from collections.abc import Callable

PLANTS: dict[str, Callable[[], None]] = {}
