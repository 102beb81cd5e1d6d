"""What is promised of Delta tables is promised of Iceberg's: the same tests, by the fixtures here.

HEADWATER_CHAOS=full has all of them; by default there is one, because CI's time is short.
"""

# ruff: noqa: F401 - they are tests of this module, too

import pytest

from tests.chaos.failpoints import FULL
from tests.spark.test_prefixes import test_every_published_set_is_what_was_told_up_to_its_event

if FULL:
    from tests.spark.test_evolution import (
        test_policy_decides_which_columns_a_table_gets,
        test_table_goes_on_when_the_statements_of_the_halt_were_run,
    )
    from tests.spark.test_late import (
        test_new_target_has_everything_and_one_of_another_log_is_refused,
        test_table_or_mode_that_is_named_later_has_everything_from_the_log,
        test_table_that_is_removed_or_replaced_by_a_copy_takes_from_the_log_what_it_lacks,
        test_table_that_lacks_what_the_log_has_lost_is_parked_until_it_is_released,
    )
    from tests.spark.test_parking import (
        test_failing_table_is_parked_and_catches_up_while_the_others_go_on,
    )
    from tests.spark.test_table_policy import (
        test_rows_go_with_a_table_that_is_dropped_while_it_is_loaded,
        test_rows_stay_at_a_truncate_and_go_with_the_table,
        test_table_stops_where_its_policy_says_and_goes_on_by_another,
        test_tables_without_a_key_are_logs_by_policy,
    )

pytestmark = [pytest.mark.spark, pytest.mark.iceberg, pytest.mark.timeout(3600 if FULL else 900)]
