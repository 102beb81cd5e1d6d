"""How far each table is behind the log, as status and metrics tell it."""

from headwater.app.spark.meter import SparkMeter
from headwater.errors import DataError
from headwater.observe import PrometheusMetrics
from headwater.spark.apply.report import Reports, TableReport
from headwater.spark.progress import BatchReport

ERROR = DataError("value-mistyped", "x")


def _lags(reports: Reports, head: int | None = None) -> dict[str, int]:
    return {name: each["lag_events"] for name, each in reports.as_dict(head).items()}


def test_table_without_changes_lags_as_the_stream_does_and_a_parked_one_from_its_place() -> None:
    metrics = PrometheusMetrics()
    reports = Reports(SparkMeter(metrics))
    reports.applied(TableReport("quiet", 10, 3, 0.5))
    reports.applied(TableReport("busy", 40, 3, 0.5))
    reports.parked("bad", 5, ERROR)
    reports.batch(BatchReport(sequence=40, events=30, seconds=1.0, waiting=7))
    assert _lags(reports) == {"bad": 42, "busy": 7, "quiet": 7}
    assert _lags(reports, head=100) == {"bad": 95, "busy": 60, "quiet": 60}
    assert 'headwater_spark_table_lag_events{table="bad"} 42.0' in metrics.render()
    assert 'headwater_spark_table_lag_events{table="quiet"} 7.0' in metrics.render()


def test_released_table_is_shown_as_any_other() -> None:
    reports = Reports()
    reports.parked("a", 5, ERROR)
    reports.batch(BatchReport(sequence=40, events=30, seconds=1.0, waiting=0))
    assert reports.as_dict()["a"]["parked"] == "value-mistyped"
    reports.released("a")
    assert reports.as_dict()["a"]["parked"] is None
    assert _lags(reports) == {"a": 0}
    assert reports.failure() is None
