"""From the server's output text to canonical JSON, a column at a time.

    kinds        which renderer a type has
    text         strings: checked, escaped, quoted
    plain        numbers, truth values, JSON, bytes
    times        dates and times in ISO 8601 with microseconds
    arrays       arrays of any of these
    rows         columns of literals to one JSON object per row

The session's settings are pinned, so each type has one output form. A renderer takes an array of
that text (null is SQL NULL) and gives an array of JSON literals; null stays null.
"""

from headwater.source.postgres.decode.render.kinds import renderer
from headwater.source.postgres.decode.render.rows import (
    join_available,
    join_rows,
    unavailable_lists,
)
from headwater.source.postgres.decode.render.text import Renderer

__all__ = ["Renderer", "join_available", "join_rows", "renderer", "unavailable_lists"]
