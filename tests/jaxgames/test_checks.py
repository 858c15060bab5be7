import re
from types import SimpleNamespace

import numpy as np
import pytest

from jaxgames import checks


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (checks.at_least, 0, "lanes=0: must be >= 1"),
        (checks.at_least, 2.0, "lanes=2.0: must be a whole number"),
        (checks.at_least, "2", "lanes='2': must be a whole number"),
        (checks.below, 1, "lanes=1: must be < 1"),
        (checks.below, 0.5, "lanes=0.5: must be a whole number"),
    ],
)
def test_whole_numbers_in_a_range(check, value, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check(1, SimpleNamespace(lanes=value), "lanes")


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(200)])
def test_whole_numbers_of_any_type(value):
    checks.at_least(1, SimpleNamespace(lanes=value), "lanes")
    checks.below(201, SimpleNamespace(lanes=value), "lanes")
