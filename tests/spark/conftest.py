"""What holds for tables of every format is tested here for Delta's.

tests/spark/iceberg/test_shared.py takes tests from here for Iceberg's.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headwater.app.spark import TableFormat


@pytest.fixture
def table_format() -> "TableFormat":
    return "delta"
