"""The test kit: public, so that people test their own sources, sinks and pipelines with ours.

- clock.py: time that a test owns. memory.py: a log without a disk.
- scripted.py, script.py: a source, sinks and metrics that do what a test wrote down.
- builders.py, strategies.py: valid events, by hand and by hypothesis.
- conformance/: a pytest suite per contract; subclass it and say how your part is made.
- replay/: recorded messages of a source become events, compared with a golden file.
- history/: changes of tables drawn from a seed, and what tables should hold after them.
- pytest_plugin.py: fixtures that pytest finds by itself. converge.py: `assert_converges`.

Production code never imports this room. May import: contract, event, errors; the last two, and
history/log.py, whatever a pipeline is made of.
"""
