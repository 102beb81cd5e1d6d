"""Files of records: how the records of a format stand one after another, read and written.

- `carrier`: what a file gives (records, and what is broken in it) and takes.
- `lines`: one JSON record on each line.
- `prefixed`: each record behind its length, as Protobuf's tools and our file sinks write them.
- `container`: Avro object container files, which bring their schema. `blocks` are their parts.
- `window`: bytes of a stream, with a look ahead. `varint`: numbers of variable length.

Reading holds one record, or one Avro block, at a time. What cannot be read is given as a `Broken`
with its place, and reading goes on behind it where the file lets that be found.

May import: the rest of the format room, contract, event, errors.
"""
