"""The example at the end of every command's help: one line that can be pasted."""

from __future__ import annotations


def example(*lines: str) -> str:
    """Help text that is kept as it is written."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
