"""What agents need of memory, and what is told when there is not enough."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from jaxgames import runtime
from jaxgames.agent import memoryless
from search.planner import size_in_bytes
from tests.tug import Tug
from training.play import agents, memory

GIB = 2**30


def hungry(name: str, kept: int = 0, searched: int = 0, together: int = 10**9):
    """Keeps so many bytes per lane, and needs others while it thinks in so many lanes together."""
    agent = memoryless(name, None)
    return agent._replace(
        init=lambda lanes: jnp.zeros((lanes, kept), jnp.uint8),
        search_bytes=lambda lanes: searched * min(lanes, together),
    )


@pytest.fixture
def machine(monkeypatch):
    """`machine(free, devices)`: so many bytes are free, on so many devices."""

    def arrange(free, devices=1):
        monkeypatch.setattr(runtime, "free_memory", lambda: free)
        monkeypatch.setattr(jax, "local_device_count", lambda: devices)

    return arrange


def refused(*arguments, **settings) -> str:
    with pytest.raises(ValueError, match="free; take") as error:
        memory.check(Tug(), *arguments, **settings)
    return str(error.value)


def test_what_is_kept_and_what_is_searched_count(machine):
    machine(10 * GIB)
    for agent in (hungry("keeps", kept=GIB), hungry("thinks", searched=GIB)):
        memory.check(Tug(), [agent, hungry("small")], 8)
        told = refused([agent, hungry("small")], 12)
        assert told == (
            f"batch=12: the match needs 12.9 GB and 10.7 GB are free; take at most batch=7 or a smaller search than {agent.name}"
        )


def test_lanes_that_do_not_think_together_do_not_count(machine):
    machine(10 * GIB)
    memory.check(Tug(), [hungry("a", searched=GIB, together=8)] * 2, 1000)
    machine(10 * GIB, devices=2)  # each has lanes that think
    assert "at most batch=6" in refused([hungry("a", searched=GIB, together=8)], 1000)
    memory.check(Tug(), [hungry("a", searched=GIB, together=8)], 8)


def test_equal_agents_share_a_memory_for_all_their_lanes(machine):
    machine(10 * GIB)
    one, other = hungry("a", kept=GIB), hungry("a", kept=GIB)
    for pair in ([one, one], [one, other]):
        memory.check(Tug(), pair, 4)
        assert "needs 12.9 GB" in refused(pair, 6)


def test_advice_where_fewer_lanes_do_not_help(machine):
    machine(GIB)
    assert refused([hungry("a", kept=2 * GIB)], 1) == "a: the match needs 2.1 GB and 1.1 GB are free; take a smaller search"
    told = refused([hungry("a")], 1, other=(2 * GIB, "buffer=9"), setting="lanes", what="the run")
    assert told == "buffer=9: the run needs 2.1 GB and 1.1 GB are free; take less"
    few = {"other": (GIB // 2, "buffer=9"), "setting": "lanes"}
    told = "lanes=16: the match needs 1.6 GB and 1.1 GB are free; take at most lanes=4 or a smaller search than a"
    assert refused([hungry("a", kept=GIB // 16)], 16, **few) == told
    told = "buffer=9: the match needs 1.0 GB and 1.1 GB are free; take less, or at most lanes=4"
    assert refused([hungry("a", kept=GIB // 16)], 7, **few) == told


def test_a_batch_whose_states_do_not_fit_is_refused_however_few_games_are_played(machine):
    machine(GIB)
    told = refused([hungry("a")], 10**8, games=100)
    assert told == "batch=100000000: the states of the match need 4.2 GB and 1.1 GB are free; take at most batch=20452225"
    memory.check(Tug(), [hungry("a", kept=GIB // 200)] * 2, 10**6, games=50)  # more lanes than games: no more than these


def test_what_players_know_counts_where_one_plays_by_it(machine):
    machine(GIB)
    game = jaxgames.make("hex", "adh-5")
    state = size_in_bytes(jax.eval_shape(game.init, jax.random.key(0)))
    known = size_in_bytes(jax.eval_shape(lambda: game.init_information(jnp.int32(0))))
    with pytest.raises(ValueError, match=f"need {10**7 * 2 * (state + known) / 1e9:.1f} GB"):
        memory.check(game, [agents.make("random", game)] * 2, 10**7)


def test_a_learner_that_does_not_fit_is_told_where_nobody_searches(machine):
    machine(GIB)
    assert refused(other=(2 * GIB, "buffer=9"), lanes=1, agents=[]).startswith("buffer=9: ")


def test_a_machine_that_does_not_tell(machine):
    machine(None)
    memory.check(Tug(), [hungry("a", kept=GIB)], 1000)


@pytest.mark.slow  # to trace
def test_trees_over_turns_take_memory_as_far_as_they_are_searched_together():
    """A node has 96 edges of three words each."""
    game = jaxgames.make("hero_academy", "tiny")
    few, more = (agents.make(f"mcts:num_simulations={number}", game).search_bytes for number in (1000, 2000))
    assert 96 * 12 < (more(3) - few(3)) / 3000 < 2000
    assert few(3) == 3 * few(1) and few(64) == few(1000) == 64 * few(1)


@pytest.mark.slow  # to trace
def test_trees_that_lanes_use_in_turn_count_once(machine):
    """A match that fits with them fits, and no larger one is refused for the trees of lanes that wait."""
    game = jaxgames.make("pommerman")
    agent = agents.make("sp_mcts:num_simulations=2000,root=true", game)
    trees = size_in_bytes(jax.eval_shape(lambda: agent.init(32)))
    machine(int(1.5 * trees))
    memory.check(game, [agent], 32)
    memory.check(game, [agent], 64)


def test_a_limit_to_the_address_space_counts():
    resource = pytest.importorskip("resource")
    free, (soft, hard) = runtime.free_memory(), resource.getrlimit(resource.RLIMIT_AS)
    used = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + GIB, hard))
        assert 0 < runtime.free_memory() <= GIB < free
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_looking_one_action_ahead_takes_what_its_worlds_take(machine):
    machine(GIB)
    game = jaxgames.make("hex", "adh-5")
    told = []
    for worlds in (1000, 10**9):
        player = agents.make(f"pimc_value:num_worlds={worlds}", game)
        try:
            memory.check(game, [player, agents.make("random", game)], 128, games=1)
        except ValueError as error:
            told.append(str(error))
    assert len(told) == 1 and told[0].startswith("pimc_value:num_worlds=1000000000: ") and told[0].endswith(" search")
    with pytest.raises(ValueError, match="num_worlds=3000000000: must be < 2147483648"):
        agents.make("pimc_value:num_worlds=3000000000", game)
