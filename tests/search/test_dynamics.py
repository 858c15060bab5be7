"""What a search walks in: how it is told who moves, and which games a search of two players' values takes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.turns import moves_at_once
from search import puct
from search.dynamics import dynamics_of
from search.puct import determinized
from search.turns import mcts as turn_mcts
from tests.hoard import Hoard
from tests.random_tree import RandomTree
from tests.tug import Tug

TABLE = np.array([0, -1])


def tug_whose_mover_is(to_play):
    @dataclasses.dataclass(frozen=True)
    class Other(Tug):
        def to_play(self, state):
            return to_play(state)

    return Other()


@pytest.mark.parametrize("to_play", [
    lambda state: jnp.int32(-1),
    lambda state: -jnp.ones((), jnp.int32),
    lambda state: -1,
    lambda state: jnp.asarray(TABLE)[jnp.ones(2, int).sum() - 1],
    lambda state: jnp.where(state.terminated, -1, -1),
    lambda state: jnp.where(state.terminated, -jnp.ones((), jnp.int32), jnp.int32(-1)),
    lambda state: jax.lax.cond(state.terminated, lambda: -1, lambda: -1),
])  # fmt: skip
def test_all_move_at_once_however_the_game_says_so(to_play):
    game = tug_whose_mover_is(to_play)
    assert moves_at_once(game) and dynamics_of(game).at_once
    assert jax.jit(lambda: jnp.bool_(moves_at_once(game)))(), "inside a program too"


@pytest.mark.parametrize("to_play", [
    lambda state: jnp.int32(0),
    lambda state: jnp.where(state.terminated, 0, 0),
    lambda state: jnp.where(state.terminated, -1, 0),
    lambda state: state.step_count % 2,
    lambda state: jax.lax.cond(state.terminated, lambda: -1, lambda: 0),
])  # fmt: skip
def test_somebody_is_to_move(to_play):
    assert not moves_at_once(tug_whose_mover_is(to_play))


class Dice:
    """A tug of war that does not tell what it draws."""

    def __init__(self):
        self.game = Tug()

    def __getattr__(self, name):
        if name == "draw_chance":
            raise AttributeError(name)
        return getattr(self.game, name)


@pytest.mark.parametrize(
    "game, draws",
    [
        (jaxgames.make("hex", "hex-3"), False),
        (jaxgames.make("pommerman"), False),
        (jaxgames.make("hero_academy", "tiny:draws=random"), True),
        (jaxgames.make("hero_academy", "tiny"), False),
        (Tug(slips=True), True),
        (Dice(), True),
    ],
    ids=["hex", "pommerman", "random draws", "seeded draws", "slips", "not told"],
)
def test_whether_chance_plays_a_part_is_known(game, draws):
    shapes = jax.eval_shape(jax.vmap(game.init), jax.random.split(jax.random.key(0), 2))
    told = jax.jit(lambda: dynamics_of(game).is_random(jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)))()
    assert told.tolist() == [draws] * 2


@dataclasses.dataclass(frozen=True)
class Three(Hoard):
    """Turns of three players."""

    num_players: int = 3


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (lambda: puct.puct(RandomTree(num_players=3), None), "PUCT"),
        (lambda: determinized.look_ahead(RandomTree(num_players=3), None), "looking ahead"),
        (lambda: turn_mcts.turn_mcts(Three()), "a tree over turns"),
    ],
)
def test_values_are_turned_between_two_players_at_most(make, use):
    with pytest.raises(ValueError, match=rf"^game='.*': 3 players move in turn; {use} is for two against each other$"):
        make()
