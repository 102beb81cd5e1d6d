"""Looking after tables between micro-batches: small files written together, old ones removed.

The stream waits meanwhile, and it is the only writer, so nothing can conflict.
"""
