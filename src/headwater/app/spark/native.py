"""What Spark's own functions are told of a format that they can read."""

from __future__ import annotations

import json

from headwater.errors import ConfigError
from headwater.format.headwater.avro_schema import EVENT_AND_EXTRA


def native_schema(name: str) -> str:
    """The schema of the format's records; ConfigError if no function of Spark's reads them."""
    if name != "headwater-avro":
        raise ConfigError("spark-native", f"{name} is not read by a function of Spark's own")
    return json.dumps(EVENT_AND_EXTRA)
