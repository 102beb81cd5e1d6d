"""How fast the formats write and read events, against what the raw libraries cost."""
