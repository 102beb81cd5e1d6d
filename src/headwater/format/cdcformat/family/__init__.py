"""Families: which rows of one transaction belong together, which was the root, what is told of it.

- `relations`: which tables that occur in it refer to which. Most transactions need no more.
- `keys`: the values by which rows refer to each other, and the pairs of rows that they give.
- `roots`: families and their roots out of pairs; numbers only.
- `entries`: what a root's event lists, each entity once; `listing`: the same as text.
- `scratch`: columns and numbers that outgrow memory, in files without a name.
- `study`: a transaction of any size, read from the log in passes; `telling`: what was found, as its
  events go by.

A transaction that is in memory as a whole and one that is not go through the same functions.
"""
