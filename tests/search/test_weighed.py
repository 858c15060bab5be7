"""A planner whose choice is weighed by another's values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from search import check_planner, presets
from search.planner import Plan, memoryless
from search.weighed import weighed
from tests.search.openings import STRATEGO, three_openings

DARK = jaxgames.make("hex", "adh-3")
PASS = 9


def told(arms, legal, weights, values, *, seat_first=True, name="told", **about):
    """A planner that says for the seat it is asked for, one of two, what it is given: rows per lane."""
    arms, legal, weights, values = (jnp.asarray(rows) for rows in (arms, legal, weights, values))

    def plan(params, keys, memory, views, seats, active):
        mine = (jnp.arange(2) == (0 * seats if seat_first else seats)[:, None])[:, :, None]
        found = Plan(
            actions=jnp.full((len(seats), 2), PASS),
            arms=jnp.where(mine, arms[:, None], PASS),
            legal=mine & legal[:, None],
            qvalues=jnp.where(mine, values[:, None], 0.0),
            visit_counts=jnp.zeros((len(seats), 2, arms.shape[1]), jnp.int32),
            action_weights=jnp.where(mine, weights[:, None], 0.0),
            root_value=jnp.zeros((len(seats), 2)),
            metrics={},
        )
        return found, memory

    return memoryless(name, plan, own_first=seat_first, **about)


def ask(planner, lanes=1, seat=1, active=True):
    keys = jax.random.split(jax.random.key(3), lanes)
    plan = jax.jit(functools.partial(planner.plan))  # a function of its own: planners are equal where their parts are
    return plan(None, keys, planner.init(lanes), None, np.full(lanes, seat), np.full(lanes, active))[0]


FIRST = {"arms": [[4, 2, 7, 0]], "legal": [[True, True, True, False]], "weights": [[0.5, 0.3, 0.2, 0.0]], "values": [[0.0] * 4]}
# The other lists the same actions in another order, and its first column, which nobody may choose, looks best.
OTHER = {"arms": [[0, 7, 2, 4]], "legal": [[False, True, True, True]], "weights": [[0.0] * 4], "values": [[1.0, -0.4, 0.5, 0.1]]}


@pytest.mark.parametrize("seat_first", [False, True])
def test_weights_are_multiplied_by_what_the_other_says_of_the_same_action(seat_first):
    planner = weighed(told(**FIRST, seat_first=seat_first), told(**OTHER, seat_first=False), scale=0.4)
    plan, row = ask(planner), 0 if seat_first else 1
    expected = np.array([0.5 * np.exp(0.1 / 0.4), 0.3 * np.exp(0.5 / 0.4), 0.2 * np.exp(-0.4 / 0.4), 0.0])
    np.testing.assert_allclose(plan.action_weights[0, row], expected / expected.sum(), rtol=1e-6)
    assert plan.actions[0, row] == 2 and plan.actions[0, 1 - row] == PASS
    assert (plan.action_weights[0, 1 - row] == 0).all() and plan.qvalues[0, row].tolist() == [0.0] * 4, "the rest is the first's"
    assert ask(weighed(told(**FIRST, seat_first=seat_first), told(**OTHER), scale=1e6)).actions[0, row] == 4, "hardly counts"


def test_what_the_other_does_not_list_is_worth_the_least():
    short = {name: [row[:2] for row in rows] for name, rows in OTHER.items()}  # of action 7 alone, which is bad
    plan = ask(weighed(told(**FIRST), told(**short), scale=0.1))
    assert plan.actions[0, 0] == 7 and plan.action_weights[0, 0, 2] > 0.98


def test_what_the_first_gives_no_weight_is_not_chosen():
    sure = FIRST | {"weights": [[0.0, 0.0, 1.0, 0.0]]}
    plan = ask(weighed(told(**sure), told(**OTHER), scale=1e-30))
    assert plan.actions[0, 0] == 7 and plan.action_weights[0, 0].tolist() == [0.0, 0.0, 1.0, 0.0]


def test_a_plan_without_weights_stays_as_it_is():
    nothing = FIRST | {"weights": [[0.0] * 4], "legal": [[False, True, True, False]]}
    assert (ask(weighed(told(**nothing), told(**OTHER), scale=0.1)).actions == PASS).all()


def test_values_that_are_no_numbers_are_the_least():
    broken = OTHER | {"values": [[1.0, np.nan, 0.0, 0.1]]}  # of action 7
    plan = ask(weighed(told(**FIRST), told(**broken), scale=0.4))
    assert plan.actions[0, 0] == 4 and plan.action_weights[0, 0, 2] == 0 and np.isfinite(plan.action_weights).all()
    nothing = OTHER | {"values": [[np.nan] * 4]}
    np.testing.assert_allclose(ask(weighed(told(**FIRST), told(**nothing), scale=0.4)).action_weights[0, 0], FIRST["weights"][0])


def test_the_least_is_that_of_the_other_s_scale():
    unlisted = {name: [row[:3] for row in rows] for name, rows in OTHER.items()}  # without action 4
    plan = ask(weighed(told(**FIRST), told(**unlisted | {"values": [[1.0, 0.2, 0.5]]}, value_range=(0.0, 1.0)), scale=1.0))
    expected = np.array([0.5, 0.3 * np.exp(0.5), 0.2 * np.exp(0.2), 0.0])
    np.testing.assert_allclose(plan.action_weights[0, 0], expected / expected.sum(), rtol=1e-6)


def test_both_remember_and_are_counted():
    def counting(memory_bytes, search_bytes):
        planner = told(**FIRST, memory_bytes=memory_bytes, search_bytes=search_bytes)
        return planner._replace(
            init=lambda batch_size: jnp.zeros(batch_size, jnp.int32),
            reset=lambda memory, lanes: jnp.where(lanes, 0, memory),
            plan=lambda params, keys, memory, *rest: (planner.plan(params, keys, (), *rest)[0], memory + memory_bytes),
        )

    both = weighed(counting(3, lambda lanes: 5 * lanes), counting(4, lambda lanes: 2 * lanes + 60), scale=1.0)
    assert both.memory_bytes == 7 and (both.search_bytes(2), both.search_bytes(100)) == (64, 500)
    assert weighed(counting(3, None), counting(4, None), scale=1.0).search_bytes is None
    assert weighed(counting(3, None), counting(4, lambda lanes: lanes), scale=1.0).search_bytes(9) == 9
    keys, seats, active = jax.random.split(jax.random.key(0), 1), jnp.zeros(1, jnp.int32), jnp.ones(1, bool)
    _, memory = jax.jit(both.plan)(None, keys, both.init(1), None, seats, active)
    assert [part.tolist() for part in memory] == [[3], [4]]
    assert [part.tolist() for part in jax.jit(both.reset)(memory, active)] == [[0], [0]]


def test_weights_stay_the_first_s_where_all_its_choices_are_worth_the_same():
    same = OTHER | {"values": [[0.3] * 4]}
    plan = ask(weighed(told(**FIRST), told(**same), scale=0.01))
    np.testing.assert_allclose(plan.action_weights[0, 0], FIRST["weights"][0], rtol=1e-6)


def test_the_final_choice_may_be_drawn():
    lanes = 2000
    many = {name: rows * lanes for name, rows in FIRST.items()}, {name: rows * lanes for name, rows in OTHER.items()}
    plan = ask(weighed(told(**many[0]), told(**many[1]), scale=0.4, temperature=1.0), lanes)
    shares = [(plan.actions[:, 0] == action).mean() for action in (4, 2, 7)]
    np.testing.assert_allclose(shares, plan.action_weights[0, 0, :3], atol=0.04)


def test_where_nothing_is_legal_or_nobody_asks_the_plan_is_the_first_s():
    over = FIRST | {"legal": [[False] * 4]}
    assert (ask(weighed(told(**over), told(**OTHER), scale=0.1)).actions == PASS).all()
    assert (ask(weighed(told(**FIRST), told(**OTHER), scale=0.1), active=False).actions == PASS).all()


@pytest.mark.slow
def test_in_a_game_of_drawn_worlds():
    """Of the usual tests of planners all hold: legal choices, weights that sum to 1, lanes on their own."""
    sizes = {"num_simulations": 6, "num_worlds": 2, "rollout_steps": 4, "microbatch_size": 2}
    planner = presets.by_name(DARK, "pc_pimc", ahead_worlds=3, **sizes)
    assert planner.name == "PC-PIMC, looking ahead in 3 worlds" and not planner.sees_state and not planner.uses_hidden
    check_planner(planner, DARK)


def test_a_game_that_values_by_hand_is_valued_so(monkeypatch):
    """What looks ahead asks no network there."""
    asked = []
    monkeypatch.setattr(presets, "_look_ahead", lambda game, evaluate, worlds, *, outputs: asked.append((evaluate, worlds)))
    monkeypatch.setattr(presets, "weighed", lambda planner, other, scale, *, temperature, **about: (scale, temperature))

    def network(params, states, seats):
        raise AssertionError

    settings = {"ahead_worlds": 5, "ahead_scale": 0.5, "temperature": 0.7, "num_worlds": 2}
    assert presets.by_name(STRATEGO, "pc_pimc", evaluate=network, **settings) == (0.5, 0.7)
    evaluate, worlds = asked.pop()
    states, promised, _ = three_openings()
    seats = np.array([0, 1, 0])
    expected = np.array(promised, np.float32)[np.arange(3), seats]
    np.testing.assert_array_equal(jax.jit(evaluate)(None, states, seats)[1], expected)
    assert (worlds.num_worlds, worlds.combine) == (5, "value")
    presets.by_name(DARK, "medoid", evaluate=network, **settings)
    assert asked.pop()[0] is network, "Hex has no values by hand"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weighed(told(**FIRST), told(**OTHER), scale=0.0), "scale=0.0: must be > 0"),
        (lambda: weighed(told(**FIRST), told(**OTHER), scale="0.2"), "scale='0.2': must be a number"),
        (lambda: weighed(told(**FIRST), told(**OTHER), scale=np.inf), "scale=inf: must be finite and > 0"),
        (lambda: weighed(told(**FIRST), told(**OTHER), scale=0.1, temperature=-1.0), "temperature=-1.0: must be >= 0"),
        (lambda: weighed(told(**FIRST), told(**OTHER, sees_state=False), scale=0.1), "must be shown the same as 'told'"),
        (lambda: weighed(told(**FIRST), 3, scale=0.1), "other=3: must be a search.planner.Planner"),
        (lambda: presets.by_name(DARK, "pc_pimc", ahead_worlds=-1), "ahead_worlds=-1: must be >= 0"),
        (lambda: presets.by_name(DARK, "pc_pimc", ahead_worlds=2, ahead_scale=0.0), "ahead_scale=0.0: must be > 0"),
        (lambda: presets.by_name(DARK, "pc_pimc", ahead_scale=0.1), "ahead_scale=0.1: needs ahead_worlds, such as 60"),
        (lambda: presets.by_name(DARK, "pimc", ahead_worlds=3), "ahead_worlds=3: pimc takes"),
    ],
)
def test_what_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()
