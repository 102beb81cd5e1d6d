"""Bytes of the server to columns, many rows at a time. Pure: no I/O, no Python object per row.

pgoutput           the stream's messages
copytext           rows in COPY's text form
spans              slices of one buffer as an Arrow array
types, logical     PostgreSQL's types, and their logical types for the schema history
render             a type's output text as canonical JSON
"""
