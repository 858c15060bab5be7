"""Searches in which models play for the others: against a slow search, as one batch, and with weights that change."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agent import Agent, memoryless
from search import fdts, mcs, puct
from search.opponents import single_player, switching, two_player
from search.planner import as_agent
from search.puct.settings import Settings
from tests.jaxgames.hex.playing import at
from tests.search import puct_reference
from tests.search.guided_tug import GAME, LANES, opinion, planned, weights
from tests.tug import ARMS, PULL, REST, SHOUT, Tug, random_player, states_of, steady_player

SIMULATIONS = 30


def echo() -> Agent:
    """Pulls in every second of its moves: what it does depends on its memory."""

    def act(params, keys, memory, views, seats, active):
        return jnp.where(memory % 2 == 0, PULL, REST), memory + active

    return Agent("echo", lambda size: jnp.zeros(size, jnp.int32), lambda memory, lanes: jnp.where(lanes, 0, memory), act)


def positions():
    return states_of(GAME, [0, 1, -1, 2, -2]), np.array([0, 1, 0, 1, 0], np.int32)


@functools.cache
def searching(opponent):
    return puct.puct(single_player(GAME, opponent), opinion, Settings(SIMULATIONS))


@jax.jit
def look(params, state, seat):
    told = opinion(params, jax.tree.map(lambda leaf: leaf[None], state), seat[None])
    return told, (GAME.search_arms(state)[1], GAME.outcome(state))


step = jax.jit(lambda state, joint: GAME.step(state, joint, jax.random.key(0)))


class SlowRules:
    """The game and the network's opinion for a slow search, state by state."""

    def __init__(self, params):
        self.params = params

    def step(self, state, joint):
        return jax.device_get(step(state, joint))

    def open_node(self, known, seat, player):
        """A node in which a seat chooses, `player` of the search; `known` begins with the state."""
        (logits, value), (legal, outcome) = jax.device_get(look(self.params, known[0], np.int32(seat)))
        over = bool(known[0].terminated)
        chances = np.where(legal[seat] & (not over), np.exp(logits[0][ARMS[seat]]), 0).astype(np.float64)
        result = float(outcome[seat]) if over else float(value[0])
        return puct_reference.Node(known, chances / max(chances.sum(), 1e-30), result, over, player)


ANSWERS = [
    pytest.param(steady_player(REST), lambda moves: REST, marks=pytest.mark.slow),
    (echo(), lambda moves: REST if moves % 2 else PULL),
]


@pytest.mark.parametrize("opponent, answers", ANSWERS, ids=["steady", "with a memory"])
def test_puct_alone_equals_a_slow_search(opponent, answers):
    planner, params, (states, seats) = searching(opponent), weights(1), positions()
    keys = jax.random.split(jax.random.key(0), LANES)
    plan, _ = planned(planner, {"own": params, "opponents": None}, keys, states, seats)
    assert plan.actions.shape == (LANES, 1) and plan.legal.shape == (LANES, 1, 3)
    slow = SlowRules(params)

    for lane in range(LANES):
        seat = int(seats[lane])

        def open_node(known, seat=seat):
            return slow.open_node(known, seat, 0)

        def play(known, arm, seat=seat):
            state, moves = known
            joint = np.array([answers(moves)] * 2)
            joint[seat] = ARMS[seat, arm]
            return slow.step(state, joint.astype(np.int32)), moves + 1

        root = (at(states, lane), 0)
        visits, _ = puct_reference.search(open_node, play, root, SIMULATIONS)
        assert plan.visit_counts[lane, 0].tolist() == visits.tolist()


def test_two_who_choose_in_turn_equal_a_slow_search():
    """The rival knows what the own seat has chosen; values change their sign from ply to ply; a model answers nobody here."""
    dynamics = two_player(GAME, steady_player(REST), lambda state, seat: 1 - seat, shared_answers=True)
    planner, params, (states, seats) = puct.puct(dynamics, opinion, Settings(SIMULATIONS)), weights(1), positions()
    keys = jax.random.split(jax.random.key(0), LANES)
    plan, _ = planned(planner, {"own": params, "opponents": None}, keys, states, seats)
    assert plan.actions.shape == (LANES, 2) and (plan.actions[:, 1] == GAME.pass_action).all()
    slow = SlowRules(params)

    for lane in range(LANES):
        own = int(seats[lane])

        def open_node(known, own=own):
            seat = own if known[1] is None else 1 - own
            return slow.open_node(known, seat, seat)

        def play(known, arm, own=own):
            state, pending = known
            if pending is None:
                return state, int(ARMS[own, arm])
            joint = np.zeros(2, int)
            joint[own], joint[1 - own] = pending, ARMS[1 - own, arm]
            return slow.step(state, joint.astype(np.int32)), None

        root = (at(states, lane), None)
        visits, _ = puct_reference.search(open_node, play, root, SIMULATIONS)
        assert plan.visit_counts[lane, 0].tolist() == visits.tolist()


def test_what_the_own_seat_has_chosen_belongs_to_the_key():
    dynamics = two_player(GAME, steady_player(REST), lambda state, seat: 1 - seat)
    states, seats = states_of(GAME, [0, 0, 0]), np.zeros(3, np.int32)

    @jax.jit
    def keys_of(keys):
        nodes = dynamics.root(None, keys, states, seats)
        waiting = dynamics.step({"own": None, "opponents": None}, keys, nodes, jnp.array([[REST, 0], [PULL, 0], [SHOUT, 0]]))
        return jnp.concatenate([dynamics.state_key(nodes)[:1], dynamics.state_key(waiting)])

    keys = jax.device_get(keys_of(jax.random.split(jax.random.key(0), 3)))
    assert len({tuple(key) for key in keys.tolist()}) == 4


def test_models_that_share_their_answers_give_each_action_the_same():
    dice = memoryless(
        "dice", lambda params, keys, views, seats: jax.vmap(jax.random.randint, (0, None, None, None))(keys, (), 0, 3)
    )
    states, seats = positions()
    keys = jax.random.split(jax.random.key(0), LANES)
    for shared in (True, False):
        dynamics = single_player(Tug(length=40, marks=1 << 20), dice, shared_answers=shared)

        @jax.jit
        def mark(keys, others, dynamics=dynamics):
            nodes = dynamics.root(None, keys, states, seats)
            return dynamics.step({"own": None, "opponents": None}, others, nodes, jnp.full((LANES, 1), REST)).state.mark

        marks = [np.asarray(mark(keys, jax.random.split(jax.random.key(number), LANES))) for number in range(8)]
        same = (np.stack(marks) == marks[0]).all()
        assert same == shared


class OutButGoing(Tug):
    """Whoever has been pulled over the middle is out, while the game goes on."""

    def in_play(self, state):
        return jnp.stack([state.token >= 0, state.token <= 0])


@pytest.mark.parametrize("rival", [None, lambda state, seat: 1 - seat])
def test_nodes_stay_as_they_are_where_the_own_seat_is_out(rival):
    """What others do from then on is worth nothing to it, and would depend on how long other lanes go on."""
    game, pulls = OutButGoing(length=4), steady_player(PULL)
    dynamics = two_player(game, pulls, rival) if rival else single_player(game, pulls)
    states, seats = states_of(game, [1, -1, 1, -1]), np.array([0, 0, 1, 1], np.int32)

    @jax.jit
    def step(keys):
        nodes = dynamics.root({"own": None, "opponents": None}, keys, states, seats)
        actions = jnp.full((4, dynamics.num_players), PULL)
        return nodes, dynamics.step({"own": None, "opponents": None}, keys, nodes, actions), dynamics.terminated(nodes)

    before, after, over = jax.device_get(step(jax.random.split(jax.random.key(0), 4)))
    assert over.tolist() == [False, True, True, False]
    np.testing.assert_array_equal((after.state.step_count == before.state.step_count)[over], True)
    if not rival:
        assert (after.state.step_count > before.state.step_count)[~over].all()


def test_a_model_is_followed_by_another_below_some_depth():
    agent = switching(steady_player(PULL), steady_player(REST), 2)
    memory, ones, views, seats = agent.init(3), np.array([True, True, False]), np.zeros(3, np.float32), np.zeros(3, np.int32)
    keys, act, told = jax.random.split(jax.random.key(0), 3), jax.jit(agent.act), []
    for _ in range(3):
        actions, memory = act(None, keys, memory, views, seats, ones)
        told.append(actions.tolist())
    assert [row[:2] for row in told] == [[PULL, PULL], [PULL, PULL], [REST, REST]]
    memory = agent.reset(memory, jnp.array([True, False, False]))
    assert memory[0].tolist() == [0, 3, 0]
    with pytest.raises(ValueError, match=r"^after=-1: must be >= 0$"):
        switching(steady_player(PULL), steady_player(REST), -1)


def test_who_takes_over_remembers_nothing_of_the_moves_before():
    agent = switching(steady_player(SHOUT), echo(), 3)
    memory, ones, views, seats = agent.init(2), np.array([True, False]), np.zeros(2, np.float32), np.zeros(2, np.int32)
    keys, act, told, asked = jax.random.split(jax.random.key(0), 2), jax.jit(agent.act), [], []
    for _ in range(6):
        actions, memory = act(None, keys, memory, views, seats, ones)
        told.append(int(actions[0]))
        asked.append(memory[2].tolist())
    assert told == [SHOUT, SHOUT, SHOUT, PULL, REST, PULL]
    assert asked == [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0], [3, 0]]


def test_a_neural_opponent_is_one_batch_and_new_weights_compile_nothing():
    asked = []

    def choose(params, keys, views, seats):
        asked.append((len(keys), views.shape))  # while tracing
        features = jnp.stack([views / 4, jnp.ones(len(seats))], axis=1)
        return (features @ params).argmax(-1).astype(jnp.int32)

    def pulls(bias):
        return np.array([[0.0, 0, 0], [0.0, bias, 0.1]], np.float32)

    planner = mcs(single_player(GAME, memoryless("network", choose)), num_simulations=40, horizon=9)
    states, seats, ones = states_of(GAME, [-2] * LANES), np.zeros(LANES, np.int32), np.ones(LANES, bool)
    run = jax.jit(lambda params, keys, *rest: planner.plan(params, keys, planner.init(LANES), *rest)[0].root_value)
    keys = jax.random.split(jax.random.key(3), LANES)

    def value(bias):
        return np.asarray(run({"own": None, "opponents": pulls(bias)}, keys, states, seats, ones)).mean()

    idle = value(-1.0)
    traced = len(asked)
    assert traced and set(asked) == {(LANES, (LANES,))}, "all lanes are asked about at once"
    busy = value(1.0)
    assert len(asked) == traced, "nothing is traced again"
    assert idle > busy + 0.2, "who faces an idle opponent expects more"


@pytest.mark.slow
def test_an_agent_made_of_such_a_search_acts_for_any_seat():
    planner = fdts(single_player(GAME, steady_player(SHOUT)), num_simulations=300, horizon=9, table_rows=1024)
    agent = as_agent(planner)
    states, seats = positions()
    params, ones = {"own": None, "opponents": None}, np.ones(LANES, bool)
    act = jax.jit(lambda keys, *rest: agent.act(params, keys, agent.init(LANES), *rest)[0])
    actions = act(jax.random.split(jax.random.key(0), LANES), states, seats, ones)
    np.testing.assert_array_equal(actions, PULL)


def test_bad_input():
    with pytest.raises(ValueError, match=r"^game='tug': all its players move at once; PUCT needs one who is to move$"):
        puct.puct(GAME, opinion)
    with pytest.raises(ValueError, match=r"^opponent='always 0': plays by what its seat has seen so far"):
        single_player(jaxgames.make("hex", "adh-5"), steady_player(0))


def test_a_model_remembers_one_row_per_lane():
    """What a node cannot keep for its lane is told when the dynamics are made, not by a search that is compiled."""
    sizes = {"num_simulations": 4, "horizon": 2}
    table, flat = fdts(GAME, table_rows=4, **sizes), mcs(GAME, **sizes)
    told = r"must have a memory of one row per lane, or none, to answer in a search$"
    with pytest.raises(ValueError, match=rf"^opponent='FDTS \+ TS': {told}"):
        single_player(GAME, as_agent(table))
    with pytest.raises(ValueError, match=rf"^opponent='FDTS \+ TS': {told}"):
        two_player(GAME, as_agent(table), lambda state, seat: 1 - seat)
    shared = random_player()._replace(name="shared", init=lambda batch_size: jnp.zeros((2, batch_size), jnp.int32))
    with pytest.raises(ValueError, match=rf"^opponent='shared': {told}"):
        single_player(GAME, shared)
    for fine in (as_agent(flat), random_player(), steady_player(REST)):
        assert single_player(GAME, fine).name == f"tug against {fine.name}"


def test_a_model_that_switches_sees_one_kind_of_view():
    states, views = (memoryless(name, lambda *_: None, sees_state=name == "states") for name in ("states", "views"))
    with pytest.raises(ValueError, match=r"^first='states', second='views': must both see the state, or both not$"):
        switching(states, views, 2)
