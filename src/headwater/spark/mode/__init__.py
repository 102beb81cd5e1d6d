"""What is kept of a table: mirror, soft_delete, scd2, append_log. A mode is a function.

It takes the table, the task and where the table stands, and issues one commit that brings the table
to the end of the batch. reading.py has the rows of a snapshot as the modes store them.
"""
