"""Tables read back as canonical rows, to be compared with the source."""
