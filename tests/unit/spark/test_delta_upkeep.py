"""How large the files of a compaction become, and what it leaves for the next one."""

from __future__ import annotations

import pytest

from headwater.spark.table.delta_upkeep import largest_file
from headwater.spark.table.upkeep import Files

_MIB = 1024**2
_TARGET = 128 * _MIB


@pytest.mark.parametrize("cores", [2, 8, 32, 512])
@pytest.mark.parametrize("mib", [129, 300, 1024, 10_000])
def test_compacted_files_are_not_small_again_when_there_are_many_cores(
    mib: int, cores: int
) -> None:
    largest = largest_file(Files(500, mib * _MIB), _TARGET, cores, spare=8)
    # A file is full when the next small one does not fit.
    assert largest - _TARGET // 4 >= _TARGET // 2
    assert largest <= _TARGET


@pytest.mark.parametrize(("cores", "parts"), [(2, 2), (4, 4), (32, 10)])
def test_small_table_is_written_by_many_cores(cores: int, parts: int) -> None:
    files = Files(500, 100 * _MIB)
    assert files.bytes / largest_file(files, _TARGET, cores, spare=8) == pytest.approx(parts)
