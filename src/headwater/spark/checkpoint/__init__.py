"""Spark's checkpoint of a stream: files.py has the formats, folder.py reads and makes one.

A checkpoint is a cache of what the tables know: it can be looked into, and made anew.
"""
