"""The server's side of capture: reached, described, made ready and looked after.

connect, refusal        connections with pinned settings, and why one was refused
transport, plainsocket  by replication or by SQL; a socket read past libpq
facts                   what the server is: version, identity, history, limits
catalog, typecatalog    its tables and its types
publication, slot       the server's record of what is captured and how far it was confirmed
skipped                 changes that the server passes over for want of a publication
install                 what `headwater setup postgres` puts there and takes away
watch                   looking after the slot while capture runs
"""
