"""Planners through `check_planner` on four devices: prints one JSON object, what was found by planner ("" where nothing was).

Run as `python -m tests.search.planners_on_devices SIZES NAME ...`, with lanes and devices as JSON; without a name: all planners.
"""

import json
import sys

from jaxgames import runtime

runtime.prepare(cores=4)

import jax.numpy as jnp  # noqa: E402

import jaxgames  # noqa: E402
from search import fdts, mcs, mcts, presets, puct, ucb1  # noqa: E402
from search.all_seats import for_all_seats  # noqa: E402
from search.bandit.guide import Guide  # noqa: E402
from search.check import check_planner  # noqa: E402
from search.modelled import Models, modelled_puct  # noqa: E402
from search.opponents import single_player  # noqa: E402
from search.puct import determinized  # noqa: E402
from search.turns import coevolution, greedy  # noqa: E402
from search.turns import mcts as turn_mcts  # noqa: E402
from tests.hoard import Hoard  # noqa: E402
from tests.random_tree import RandomTree  # noqa: E402
from tests.rivalry import Rivalry  # noqa: E402
from tests.tug import Tug, random_player  # noqa: E402

TUG, HOARD, TREE = Tug(slips=True), Hoard(), RandomTree()
DARK = jaxgames.make("hex", "adh-3")
RIVALRY = Rivalry(length=4, marks=64, slips=True)
SIZE = {"num_simulations": 8, "microbatch_size": 8}
EVOLVING = {"num_generations": 3, "population": 6, "microbatch_size": 8}
TABLE = {**SIZE, "horizon": 4, "table_rows": 2**8}


def opinion(params, states, seats):
    del params, seats
    return TREE.opinion(states)


def level(params, states, seats):
    del params
    return jnp.stack([0.3 * states.token, states.step_count / 12, seats], -1).astype(jnp.float32), jnp.tanh(0.5 * states.token)


def even(params, states, seats):
    del params, states
    numbers = jnp.arange(DARK.num_actions - 1, dtype=jnp.float32)
    return jnp.sin(numbers + seats[:, None]), 0.1 * seats.astype(jnp.float32)


def marked(params, states, seats):
    del params
    logits = jnp.sin(states.mark[:, None] * jnp.array([1.0, 2.0, 3.0]) + seats[:, None])
    return logits, jnp.tanh(states.token * jnp.where(seats == 0, 0.5, -0.5))


def against(root, rival="none", **settings):
    """A search of 16 simulations against models that pass."""
    return modelled_puct(RIVALRY, marked, Models(model="still", rival=rival, root=root), puct.Settings(16, **settings))


WALKS = {"leaf_parallelism": 4, "replies": 2, "random_starts": 0.25}
PARAMS = {"own": None, "opponents": None}  # of searches that are made of dynamics; the others look at none
PLANNERS = {
    "fdts": (TUG, lambda: fdts(TUG, ucb1(), **TABLE)),
    "fdts with a guide": (TUG, lambda: fdts(TUG, guide=Guide(level, values=True), leaf_parallelism=2, **TABLE)),
    "mcts": (TUG, lambda: mcts(TUG, **TABLE)),
    "mcs": (TUG, lambda: mcs(TUG, horizon=4, **SIZE)),
    "oep of strings": (TUG, lambda: presets.by_name(TUG, "oep", population=4, horizon=4, **SIZE)),
    "rolling horizon of strings": (TUG, lambda: presets.by_name(TUG, "rolling_horizon", population=4, horizon=4, **SIZE)),
    "oep": (HOARD, lambda: presets.by_name(HOARD, "oep", **EVOLVING, rollouts=1, islands=2)),
    "rolling horizon": (HOARD, lambda: presets.by_name(HOARD, "rolling_horizon", **EVOLVING)),
    "coevolution": (HOARD, lambda: coevolution.coevolution(HOARD, coevolution.Settings(replies=4, judges=2, **EVOLVING))),
    "turn mcts": (HOARD, lambda: turn_mcts.turn_mcts(HOARD, turn_mcts.Settings(**SIZE, max_depth=12))),
    "greedy action": (HOARD, lambda: greedy.greedy_action(HOARD)),
    "greedy turn": (HOARD, lambda: greedy.greedy_turn(HOARD, greedy.Settings(num_evaluations=20, microbatch_size=8))),
    "puct": (TREE, lambda: puct.puct(TREE, opinion, puct.Settings(16, reuse=True, mcts_solver=True))),
    "puct with noise": (TREE, lambda: puct.puct(TREE, opinion, puct.Settings(16, dirichlet_fraction=0.25, temperature=1.0))),
    "puct of several walks": (TREE, lambda: puct.puct(TREE, opinion, puct.Settings(16, reuse=True, leaf_parallelism=4))),
    "puct against who draws": (RIVALRY, lambda: puct.puct(
        single_player(RIVALRY, random_player(), shared_answers=True), marked, puct.Settings(16, **WALKS))),
    "sp_mcts": (RIVALRY, lambda: against("true", **WALKS)),
    "sp_mcts of beliefs": (RIVALRY, lambda: against("believed", **WALKS)),
    "tp_mcts": (RIVALRY, lambda: against("visible", "closest", leaf_parallelism=4)),
    "modelled_fdts": (RIVALRY, lambda: presets.by_name(
        RIVALRY, "modelled_fdts", model="still", rival="closest", values="prospects", **TABLE)),
    "sp_mcts for all seats": (RIVALRY, lambda: for_all_seats(RIVALRY, against("true"))),
    "pimc": (DARK, lambda: determinized.pimc_tree(DARK, even, determinized.Settings(
        num_worlds=3, microbatch_size=8, temperature=1.0, search=puct.Settings(8)))),
}  # fmt: skip


def found(name, **sizes):
    game, make = PLANNERS[name]
    try:
        check_planner(make(), game, PARAMS, **sizes)
    except ValueError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    print(json.dumps({name: found(name, **json.loads(sys.argv[1])) for name in sys.argv[2:] or PLANNERS}))
