"""The running stream, from the socket to batches of whole transactions.

intake, mailbox               what receives the stream, and where it leaves its gulps
copyboth, receive             the stream's socket, read in gulps by a thread of its own
peek, copyout, repeated       the same by SQL; what a look shows again
spool, transactions           transactions in progress; which one a change belongs to
told, notices                 events about tables rather than rows
assemble, running             gulps to batches; the stream as the source sees it
"""
