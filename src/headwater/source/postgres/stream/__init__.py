"""The running stream, from the socket to batches of whole transactions.

copyboth, receive, mailbox    the stream's socket, read in gulps by a thread of its own
spool, transactions           transactions in progress; which one a change belongs to
told, notices                 events about tables rather than rows
assemble, running             gulps to batches; the stream as the source sees it
"""
