"""How far each table is behind the log, as status and metrics tell it."""

from collections.abc import Callable

from headwater.app.spark.meter import SparkMeter
from headwater.contract import Lag
from headwater.errors import DataError
from headwater.observe import PrometheusMetrics
from headwater.spark.apply.report import Reports, TableReport
from headwater.spark.progress import BatchReport, record_of

ERROR = DataError("value-mistyped", "x")


def _log(head: int) -> Callable[[int], Lag]:
    """A log whose events have ten bytes each and come one a second."""
    return lambda after: Lag(head - after, 10 * (head - after), float(head - after))


def _lags(reports: Reports, head: int) -> dict[str, int]:
    return {name: each["lag_events"] for name, each in reports.as_dict(_log(head)).items()}


def test_table_without_changes_lags_as_the_stream_does_and_a_parked_one_from_its_place() -> None:
    metrics = PrometheusMetrics()
    reports = Reports(SparkMeter(metrics))
    reports.applied(TableReport("quiet", 10, 3, 0.5))
    reports.applied(TableReport("busy", 40, 3, 0.5))
    reports.parked("bad", 5, ERROR)
    reports.batch(BatchReport(sequence=40, events=30, seconds=1.0, waiting=7), _log(47))
    assert _lags(reports, 47) == {"bad": 42, "busy": 7, "quiet": 7}
    assert 'headwater_spark_table_lag_events{table="bad"} 42.0' in metrics.render()
    assert 'headwater_spark_table_lag_events{table="quiet"} 7.0' in metrics.render()


def test_lag_is_told_in_events_bytes_and_seconds_and_grows_while_no_batch_ends() -> None:
    metrics = PrometheusMetrics()
    reports = Reports(SparkMeter(metrics))
    reports.applied(TableReport("busy", 40, 3, 0.5))
    reports.batch(BatchReport(sequence=40, events=30, seconds=1.0, waiting=0), _log(40))
    assert 'headwater_spark_table_lag_seconds{table="busy"} 0.0' in metrics.render()
    reports.measure(_log(100))
    told = reports.as_dict(_log(100))["busy"]
    assert (told["lag_events"], told["lag_bytes"], told["lag_s"]) == (60, 600, 60.0)
    for unit, value in (("events", 60.0), ("bytes", 600.0), ("seconds", 60.0)):
        assert f'headwater_spark_table_lag_{unit}{{table="busy"}} {value}' in metrics.render()


def test_released_table_is_shown_as_any_other() -> None:
    reports = Reports()
    reports.parked("a", 5, ERROR)
    reports.batch(BatchReport(sequence=40, events=30, seconds=1.0, waiting=0), _log(40))
    assert reports.as_dict(_log(40))["a"]["parked"] == "value-mistyped"
    reports.released("a")
    assert reports.as_dict(_log(40))["a"]["parked"] is None
    assert _lags(reports, 40) == {"a": 0}
    assert reports.failure() is None


def test_topic_tells_of_batches_and_not_of_tables_that_it_does_not_know() -> None:
    metrics = PrometheusMetrics()
    reports = Reports(SparkMeter(metrics))
    reports.applied(TableReport("busy", 40, 3, 0.5))
    assert reports.reached == 40
    reports.batch(BatchReport(sequence=40, events=30, seconds=1.0, waiting=7), None)
    assert "headwater_spark_lag_events 7.0" in metrics.render()
    assert "table_lag_events{" not in metrics.render()


def test_place_in_a_topic_is_read_as_the_connector_shows_it() -> None:
    assert record_of('{"crm":{"0":12}}') == 12
    assert record_of('{"crm":{"0":0}}') == 0
    for nothing in (None, "{}", "null", "[]", "x", '{"crm":5}'):
        assert record_of(nothing) is None
