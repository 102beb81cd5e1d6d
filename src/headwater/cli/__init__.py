"""The command line: a door that opens into `app`.

- main.py: the command tree. output.py: lines, the JSON envelope, exit codes. text.py: row data that
  cannot command the terminal. changes.py: a change on the screen.
- One file for each group of commands: settings, setup, run, tail, status, doctor, verify, log,
  slots, about, demo.

Every command has help, an example in it, and `--json`; a test walks the tree.
Holds: INV-12 in what it prints. May import: app (event and errors for their types).
"""
