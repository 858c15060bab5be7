"""Every planner: a lane gets the same bits alone and among neighbours, on one device and on several."""

import dataclasses
import json

import jax.numpy as jnp
import pytest

from search import fdts
from search.believed import believed
from search.check import check_planner
from tests.processes import run_python
from tests.rivalry import Rivalry
from tests.training.tiny import drawing_oracle
from tests.tug import Tug

GAME = Tug(marks=10**6, slips=True, max_steps=40, length=3)  # hardly a state comes back
PLANNER = fdts(GAME, num_simulations=8, horizon=4, table_rows=16, microbatch_size=4)


def on_devices(*names, flags="", **sizes):
    done = run_python(["-m", "tests.search.planners_on_devices", json.dumps(sizes), *names], {"XLA_FLAGS": flags}, seconds=1200)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found and not any(found.values()), found


@pytest.mark.slow
def test_a_planner_on_four_devices():
    on_devices("fdts", lanes=[8], devices=[4], flags="--xla_backend_optimization_level=0")


@pytest.mark.slow
def test_all_planners_on_four_devices():
    on_devices(lanes=[1, 7, 64], devices=[1, 2, 4])


@pytest.mark.slow
def test_a_planner_alone_and_among_neighbours():
    """Also where rows of its table give way."""
    check_planner(PLANNER, GAME, lanes=(1, 7), devices=(1,), moves=3)


def test_a_planner_of_beliefs_alone_and_among_neighbours():
    """What is planned goes by what is remembered; who does not see the state is shown what it observes."""
    game = Rivalry(marks=64, max_steps=40, length=30)
    drawing = drawing_oracle(game)

    def plan(params, keys, memory, views, seats, active):
        plan, memory = drawing.plan(params, keys, memory, views, seats, active)
        return dataclasses.replace(plan, root_value=plan.root_value + views.mark[:, None]), memory

    fair = believed(game, drawing._replace(plan=plan))
    check_planner(fair, game, lanes=(1, 7), devices=(1,))
    forgetful = fair._replace(reset=lambda memory, lanes: memory._replace(begins=memory.begins | lanes.any()))
    with pytest.raises(ValueError, match=r"^drawing, fair: with 1 instead of 7 lanes, plan\.root_value of move "):
        check_planner(forgetful, game, lanes=(1, 7), devices=(1,))


@pytest.mark.slow  # that what differs is told is also shown above
def test_lanes_that_look_at_each_other_are_found():
    drawing = drawing_oracle(GAME)

    def plan(params, keys, memory, views, seats, active):
        plan, memory = drawing.plan(params, keys, memory, views, seats, active)
        return dataclasses.replace(plan, root_value=plan.root_value + jnp.roll(plan.root_value, 1, axis=0)), memory

    told = r"^drawing: with 1 instead of 8 lanes, plan\.root_value of move \d, lane \d, entry \[\d\] is .*, must be "
    with pytest.raises(ValueError, match=told):
        check_planner(drawing._replace(plan=plan), GAME, lanes=(1, 8), devices=(1,), moves=2)


@pytest.mark.parametrize(
    ("field", "change", "told"),
    [
        ("actions", lambda found: found[:, 0], r"of shape \[1\] and type int32: must be whole numbers \[B, P\], "),
        (
            "arms",
            lambda found: found.astype(float),
            r"of shape \[1, 2, 3\] and type float32: must be whole numbers \[B, P, K\], ",
        ),
        ("qvalues", lambda found: found[..., :-1], r"of shape \[1, 2, 2\] and type float32: must be floats "),
        ("legal", lambda found: None, "None: must be flags "),
    ],
)
def test_plans_that_are_none_are_told(field, change, told):
    drawing = drawing_oracle(GAME)

    def plan(*asked):
        plan, memory = drawing.plan(*asked)
        return dataclasses.replace(plan, **{field: change(getattr(plan, field))}), memory

    with pytest.raises(ValueError, match=f"^plan of 'drawing': {field} {told}"):
        check_planner(drawing._replace(plan=plan), GAME, lanes=(1,), devices=(1,), moves=1)


def test_devices_that_do_not_divide_the_lanes_are_told():
    with pytest.raises(ValueError, match=r"lanes=\(1, 7\): the largest must be a multiple of the devices, 2"):
        check_planner(PLANNER, GAME, lanes=(1, 7), devices=(1, 2))
