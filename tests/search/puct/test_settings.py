"""Settings of PUCT that are refused."""

import dataclasses
import re

import pytest

from search import puct
from search.puct.settings import Settings


@pytest.mark.parametrize("urgency", ["0", True, 1e39, float("nan")])
def test_a_first_play_urgency_is_a_number(urgency):
    with pytest.raises(ValueError, match=rf"^first_play_urgency={re.escape(f'{urgency!r}')}: must be a (finite )?number"):
        Settings(first_play_urgency=urgency)


@pytest.mark.parametrize("field, value", [
    ("num_simulations", 0), ("c_base", 0), ("dirichlet_fraction", 1.5), ("temperature", -1), ("max_candidates", 0),
    ("leaf_parallelism", 65), ("replies", 0),
])  # fmt: skip
def test_settings_are_checked(field, value):
    with pytest.raises(ValueError, match=f"{field}={value}: must be"):
        dataclasses.replace(puct.ALPHAZE, **{field: value})


def test_noise_and_kept_trees_exclude_each_other():
    with pytest.raises(ValueError, match=r"dirichlet_fraction=0\.25: must be 0 with reuse"):
        Settings(reuse=True, dirichlet_fraction=0.25)


def test_the_least_q_of_a_node_takes_the_place_of_a_first_play_urgency():
    with pytest.raises(ValueError, match=r"^first_play_urgency=0\.5: leave it out with normalize_q"):
        Settings(normalize_q=True, first_play_urgency=0.5)
