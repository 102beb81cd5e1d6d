"""What every section of the file has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from headwater.app.config.scalar import Text

Name = Annotated[Text, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Globs = tuple[Annotated[Text, Field(min_length=1)], ...]
EVERY_TABLE: Globs = ("*",)


class Section(BaseModel):
    """Unknown settings are errors, and nothing changes after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
