"""Tables as ranges of hashes, or read back as canonical rows, to be compared with the source."""
