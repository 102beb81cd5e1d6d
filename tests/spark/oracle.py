"""The oracle of the test kit, where our own tests look for it."""

from headwater.testing.history.oracle import Marked, Oracle, Version

__all__ = ["Marked", "Oracle", "Version"]
