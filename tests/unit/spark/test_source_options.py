"""Options of format("headwater"): every one checked, the wrong ones named with the right one."""

import pytest

from headwater.errors import ConfigError
from headwater.spark.source.options import Options
from headwater.spark.source.place import EARLIEST, LATEST, Place, PlaceKind
from headwater.spark.source.tasks import WORTH_BYTES, WORTH_RECORDS, Tasks


def _read(**given: str) -> Options:
    return Options.parse({name.lower(): value for name, value in given.items()})


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, None),
        ({"startingSequence": "earliest"}, EARLIEST),
        ({"startingSequence": "Latest"}, LATEST),
        ({"startingSequence": "17"}, Place(PlaceKind.SEQUENCE, 17)),
        ({"startingPosition": "0/16B3748"}, Place(PlaceKind.POSITION, "0/16B3748")),
        ({"startingTime": "1970-01-01T00:00:01"}, Place(PlaceKind.TIME, 1000)),
        ({"startingTime": "1970-01-01T01:00:01.0001+01:00"}, Place(PlaceKind.TIME, 1001)),
    ],
)
def test_start_is_named_by_sequence_time_or_position(
    given: dict[str, str], place: Place | None
) -> None:
    assert _read(path="x", **given).start == place


def test_sizes_have_units_and_tables_are_a_list() -> None:
    read = _read(
        maxBytesPerTrigger="3m", maxRowsPerTrigger="10", tables=" a, b.* ,", partitions="7"
    )
    assert (read.max_bytes, read.max_rows, read.tasks.asked) == (3 * 1024**2, 10, 7)
    assert read.tables == ("a", "b.*")


@pytest.mark.parametrize(
    ("cores", "mb", "tasks"), [(16, 0, 2), (16, 5, 5), (16, 99, 16), (2, 99, 2), (1, 99, 1)]
)
def test_read_has_a_task_per_core_if_it_is_worth_them(cores: int, mb: int, tasks: int) -> None:
    """A small micro-batch on a large cluster does not pay for tasks that have nothing to do."""
    size = mb * WORTH_BYTES
    assert Options.parse({}, cores).tasks.for_bytes(size) == tasks
    assert Options.parse({}, cores).tasks.for_records(mb * WORTH_RECORDS) == tasks
    assert Options.parse({"partitions": "7"}, cores).tasks.for_bytes(size) == 7


def test_records_of_a_topic_are_shared_among_the_cores_if_they_are_worth_it() -> None:
    assert [Tasks(cores=cores).share(200_000) for cores in (2, 16, 64)] == [100_000, 12_500, 10_000]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingSequenze": "1"}, "startingsequenze.*did you mean startingSequence"),
        ({"quux": "1"}, "no option quux.*known: path, tables"),
        ({"startingSequence": "soon"}, "startingSequence cannot be 'soon'"),
        ({"startingSequence": "-1"}, "startingSequence cannot be '-1'"),
        ({"startingTime": "yesterday"}, "startingTime cannot be 'yesterday'.*ISO 8601"),
        ({"startingPosition": " "}, "startingPosition cannot be ''"),
        ({"startingTime": "2026-01-01", "startingSequence": "1"}, "exclude each other"),
        ({"endingSequence": "latest"}, "endingSequence cannot be 'latest'"),
        ({"maxRowsPerTrigger": "0"}, "maxRowsPerTrigger cannot be '0'"),
        ({"maxBytesPerTrigger": "1t"}, "maxBytesPerTrigger cannot be '1t'"),
        ({"pushFilters": "maybe"}, "pushFilters cannot be 'maybe'"),
        ({"partitions": "two"}, "partitions cannot be 'two'"),
    ],
)
def test_wrong_option_is_refused_by_its_name(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s){said}") as caught:
        _read(**given)
    assert caught.value.code == "spark-option"


def test_option_that_a_kind_of_read_would_pass_over_is_refused() -> None:
    with pytest.raises(ConfigError, match="for batch reads"):
        _read(endingTime="2026-01-01").for_stream()
    with pytest.raises(ConfigError, match="for batch reads"):
        _read(pushFilters="true").for_stream()
    with pytest.raises(ConfigError, match="consumer is for streams"):
        _read(consumer="x").for_batch()
    with pytest.raises(ConfigError, match="maxBytesPerTrigger is for streams"):
        _read(maxBytesPerTrigger="1").for_batch()
    with pytest.raises(ConfigError, match="encodeAs gives records"):
        _read(encodeAs="debezium", pushFilters="true").for_batch()
    with pytest.raises(ConfigError, match="latest reads nothing"):
        _read(startingSequence="latest").for_batch()
