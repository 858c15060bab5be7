"""Whose logits they are where a search numbers its players itself: those of the seat in the game, as its encoder numbers them."""

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from search import puct, ucb1
from search.bandit.guide import Guide
from search.opponents import single_player, two_player
from search.puct.settings import Settings
from tests.tug import steady_player

GAME = jaxgames.make("hex", "hex-3")  # the second player is shown rows as columns
OUTPUTS = jaxgames.encoder_of(GAME).outputs
FAVOURED = 1
EXPECTED = [1, 3]  # the cell of that output, by seat
CELLS = 9
PASSES = steady_player(GAME.pass_action)._replace(sees_state=True)


def favouring(params, states, seats):
    return jnp.tile(10 * jnp.eye(CELLS)[FAVOURED], (len(seats), 1)), jnp.zeros(len(seats))


def other(state, seat):
    return 1 - seat


@pytest.fixture(scope="module")
def positions():
    """Seat 0 to move in the first and third lane, seat 1 in the second and fourth."""

    @jax.jit
    def stones():
        start = GAME.init(jax.random.key(0))
        later = GAME.step(start, jnp.array([4, GAME.pass_action]), jax.random.key(0))
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), start, later, start, later)

    return jax.device_get(stones())


@pytest.mark.parametrize(
    "rival", [pytest.param(None, id="alone", marks=pytest.mark.slow), pytest.param(other, id="with a rival")]
)
def test_priors_are_those_of_the_seat_in_the_game(rival, positions):
    """The own seat is to move in the first two lanes, and the rival in the others, where the own seat can only pass."""
    dynamics = two_player(GAME, PASSES, rival) if rival else single_player(GAME, PASSES)
    planner = puct.puct(dynamics, favouring, Settings(num_simulations=1), outputs=OUTPUTS)

    @jax.jit
    def planned(keys):
        seats, memory = jnp.array([0, 1, 1, 0]), planner.init(4)
        plan, memory = planner.plan(None, keys, memory, positions, seats, jnp.ones(4, bool))
        return plan.actions[:, 0], memory.prior(jnp.ones(4, jnp.int32))

    actions, after = planned(jax.random.split(jax.random.key(0), 4))
    assert actions.tolist() == [*EXPECTED, GAME.pass_action, GAME.pass_action]
    if rival:
        assert after[2:].argmax(-1).tolist() == EXPECTED


def test_a_guide_weighs_by_the_outputs_of_the_seat_in_the_game(positions):
    """Seats 0 and 1 are to move, once alone in the search and once as the rival."""
    guide, bandit = Guide(favouring, 100.0, outputs=OUTPUTS), ucb1()

    def visits(dynamics, keys, seats):
        nodes = dynamics.root(None, keys, positions, jnp.array(seats))
        words = guide.prior_words(dynamics, bandit, None, nodes)
        return bandit.visits(words).reshape(4, dynamics.num_players, -1)[:, -1]

    @jax.jit
    def weighed(keys):
        alone, both = single_player(GAME, PASSES), two_player(GAME, PASSES, other, in_turn=False)
        return visits(alone, keys, [0, 1, 0, 1]), visits(both, keys, [1, 0, 1, 0])

    for counts in weighed(jax.random.split(jax.random.key(0), 4)):
        assert counts.argmax(-1).tolist() == EXPECTED * 2
