"""What a network is taught of a plan, against a loop over arms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from search import policy_targets
from search.planner import Plan

HEX, BARRAGE = jaxgames.make("hex", "hex-3"), jaxgames.make("stratego", "barrage")
LANES, ARMS = 4, 5


def plan_of(game, arms, legal, weights):
    nothing = np.zeros((LANES, game.num_players))
    return Plan(nothing, arms, legal, weights, weights, weights, nothing, {})


@pytest.mark.parametrize("game", [HEX, BARRAGE], ids=["few outputs", "many outputs"])
@pytest.mark.parametrize("own_first", [False, True])
def test_weights_come_to_the_outputs_of_their_actions(game, own_first):
    encoder, rng = jaxgames.encoder_of(game), np.random.default_rng(0)
    seats = np.array([0, 1, 1, 0])
    arms = rng.integers(0, game.num_actions - 1, (LANES, 2, ARMS)).astype(np.int32)
    arms[:, :, 1] = arms[:, :, 0]  # an action that comes twice
    arms[:, :, 4] = game.pass_action
    legal, weights = rng.random(arms.shape) < 0.7, rng.random(arms.shape).astype(np.float32)
    found = jax.jit(lambda plan, seats: policy_targets(encoder, plan, seats, own_first=own_first))(
        plan_of(game, arms, legal, weights), seats
    )
    expected = np.zeros((LANES, encoder.num_outputs))
    outputs = jax.jit(jax.vmap(encoder.outputs))
    for row in range(2):
        places = np.asarray(outputs(arms[:, row], seats))
        for lane in np.flatnonzero(seats * (not own_first) == row):
            for place, fine, weight in zip(places[lane], legal[lane, row], weights[lane, row], strict=True):
                if fine and place >= 0:
                    expected[lane, place] += weight
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == jnp.float32 and (expected > 0).any(1).all()
