"""Runs of a tournament: stopped ones, shards, folders that are another's, agents by name, and what the command line refuses."""

import contextlib
import dataclasses
import io
import itertools
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from jaxgames import runtime
from jaxgames.agent import memoryless
from tests.tug import Tug
from training.jobs.command_line import run_main
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play import agents, tournament
from training.play.cross_table import CrossTable
from training.play.tournament import TournamentConfig, round_robin
from training.storage import provenance
from training.storage.weights import load_weights, save_weights

KEY = jax.random.key(5)


def test_games_have_defaults_of_their_own():
    assert TournamentConfig(game="hero_academy").mode == "standard" and TournamentConfig().mode == "adh-5"
    assert TournamentConfig(game="hero_academy").agents[0] == TournamentConfig().agents[0] == "random"


@pytest.fixture
def pairs(monkeypatch):
    """Pairs that were asked to play, of made-up results; after as many as `pairs.stop` comes an interruption."""

    class Pairs(list):
        stop = 100

    found = Pairs()

    def play(game, pair, key, num_games, **_):
        if len(found) == found.stop:
            raise KeyboardInterrupt
        found.append((pair[0].name, pair[1].name))
        return np.arange(num_games) % 2 == len(found) % 2

    monkeypatch.setattr(tournament, "play_pair", play)
    return found


@pytest.fixture
def named(monkeypatch):
    """Agents are their names: nothing is made of them, as nobody plays."""
    monkeypatch.setattr(agents, "make", lambda spec, game: memoryless(spec, None))


@pytest.mark.usefixtures("named")
def test_a_tournament_that_was_stopped_goes_on(pairs, tmp_path, weights):
    names = ("random", "path", f"network:weights={weights}")
    config = TournamentConfig(names, mode="adh-3", games=4, output=str(tmp_path / "run"))
    straight = tournament.run(dataclasses.replace(config, output=str(tmp_path / "straight")), Console(quiet=True))
    assert len(pairs) == 3
    pairs.clear()
    pairs.stop = 1
    with pytest.raises(KeyboardInterrupt):
        tournament.run(config, Console(quiet=True))
    stored = json.loads((tmp_path / "run" / "result.json").read_text())
    assert stored["games"] == [[0, 4, 0], [4, 0, 0], [0, 0, 0]] and "elo" not in stored
    pairs.stop = 100
    console = Console(file=io.StringIO(), width=200)
    result = tournament.run(config, console)
    assert pairs == list(itertools.combinations(names, 2))  # the first before the stop, and none of them twice
    for name in ("points", "first_points", "games", "draws", "elo"):
        assert result[name] == straight[name]
    assert result["seconds"] >= stored["seconds"] and "random - path: " in console.file.getvalue()
    assert tournament.run(config, Console(quiet=True))["elo"] == straight["elo"] and len(pairs) == 3


def test_a_pair_of_which_one_has_won_nothing_is_not_played_again(pairs):
    players = {name: memoryless(name, None) for name in ("pulls", "random", "rests")}
    points, games = np.array([[0, 0, 0], [4, 0, 0], [0, 0, 0]], float), np.array([[0, 4, 0], [4, 0, 0], [0, 0, 0]])
    earlier = CrossTable(tuple(players), points, games, points / 2, np.zeros_like(games))
    table = round_robin(Tug(), players, KEY, 4, earlier=earlier)
    assert pairs == [("pulls", "rests"), ("random", "rests")] and table.games[0].tolist() == [0, 4, 4]


@pytest.mark.usefixtures("named")
def test_shards_make_one_table(pairs, tmp_path, weights):
    names = ("random", "path", f"network:weights={weights}")
    config = TournamentConfig(names, mode="adh-3", games=4, output=str(tmp_path))
    first, second = (dataclasses.replace(config, shard=f"{number}/2") for number in (1, 2))
    console = Console(file=io.StringIO(), width=200)
    assert "elo" not in tournament.run(first, console) and "2 of 3 pairs" in console.file.getvalue()
    assert console.file.getvalue().endswith(f"2 of 3 pairs are in {tmp_path}; other shards play the rest\n")
    tournament.run(second, console := Console(file=io.StringIO(), width=200))
    assert "hex adh-3: points in % against" in console.file.getvalue(), "the last shard shows the table"
    every = list(itertools.combinations(names, 2))
    assert pairs == [every[0], every[2], every[1]]
    assert sorted(path.name for path in (tmp_path / "pairs").iterdir()) == ["0-1.json", "0-2.json", "1-2.json"]
    result = json.loads((tmp_path / "result.json").read_text())
    assert type(result["games"][0][1]) is int
    assert (np.array(result["games"]) == 4 - 4 * np.eye(3)).all() and len(result["elo"]) == 3
    for again in (first, config):  # nothing is played twice, by shards or by one
        assert tournament.run(again, Console(quiet=True))["elo"] == result["elo"] and len(pairs) == 3
    with pytest.raises(ValueError, match="shard='2/2': needs an output folder"):
        dataclasses.replace(second, output="")
    other = dataclasses.replace(second, games=6)
    with pytest.raises(
        ValueError, match=rf"^games=6: the tournament in {re.escape(str(tmp_path))} has 4; give that, or another folder$"
    ):
        tournament.run(other, Console(quiet=True))


def three(folder, **settings):
    return TournamentConfig(("random", "path", "mcts"), mode="adh-3", games=4, output=str(folder), **settings)


def played(folder):
    """The numbers of result.json."""
    result = json.loads((folder / "result.json").read_text())
    return [result[name] for name in ("points", "games", "first_points", "draws")]


@pytest.mark.usefixtures("named")
def test_shards_play_nothing_that_one_call_has_played(pairs, tmp_path):
    tournament.run(three(tmp_path), Console(quiet=True))
    before = played(tmp_path)
    assert tournament.run(three(tmp_path, shard="1/3"), Console(quiet=True))["elo"]
    assert len(pairs) == 3 and played(tmp_path) == before
    pairs.clear()
    pairs.stop = 1
    with pytest.raises(KeyboardInterrupt):
        tournament.run(three(tmp_path / "stopped"), Console(quiet=True))
    pairs.stop = 100
    for share in ("2/3", "1/3", "3/3"):
        tournament.run(three(tmp_path / "stopped", shard=share), Console(quiet=True))
    assert len(pairs) == 3 and np.array(played(tmp_path / "stopped")[1]).sum() == 6 * 4


@pytest.mark.usefixtures("named")
def test_one_call_takes_the_pairs_of_shards(pairs, tmp_path):
    tournament.run(three(tmp_path, shard="2/3"), Console(quiet=True))
    (tmp_path / "result.json").unlink()
    tournament.run(three(tmp_path), told := Console(file=io.StringIO(), width=200))
    assert pairs == [("random", "mcts"), ("random", "path"), ("path", "mcts")]
    assert f"taken from {tmp_path}: 1 pair\n" in told.file.getvalue()


@pytest.mark.usefixtures("named")
def test_shards_leave_the_result_of_another_tournament_alone(pairs, tmp_path):
    tournament.run(three(tmp_path), Console(quiet=True))
    before = (tmp_path / "result.json").read_bytes()
    for share in ("1/1", "1/3"):
        with pytest.raises(ValueError, match=r"^seed=1: the tournament in .* has 0; give that, or another folder$"):
            tournament.run(three(tmp_path, seed=1, shard=share), Console(quiet=True))
    assert (tmp_path / "result.json").read_bytes() == before and len(pairs) == 3, "refused before anything is played"


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("settings", [{}, {"shard": "1/3"}])
def test_what_others_write_meanwhile_is_kept(settings, pairs, tmp_path, monkeypatch):
    play, others = tournament.play_pair, []

    def play_while_others_do(*given, **more):
        if not others:
            others.append(True)
            tournament.run(three(tmp_path, shard="2/3"), Console(quiet=True))
        if len(pairs) == 2:
            raise KeyboardInterrupt
        return play(*given, **more)

    monkeypatch.setattr(tournament, "play_pair", play_while_others_do)
    with contextlib.suppress(KeyboardInterrupt):
        tournament.run(three(tmp_path, **settings), Console(quiet=True))
    assert np.array(played(tmp_path)[1]).tolist() == [[0, 4, 4], [4, 0, 0], [4, 0, 0]]


@pytest.mark.usefixtures("named")
def test_an_interrupt_says_where_the_finished_pairs_are(pairs, tmp_path, weights, monkeypatch):
    config = TournamentConfig(("random", "path"), mode="adh-3", games=4, output=str(tmp_path))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(tournament, "play_pair", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tournament.run(config, console := Console(file=io.StringIO(), width=200))
    assert f"stopped; pairs that are over, if any, are in {tmp_path}, and the same command goes on\n" in console.file.getvalue()


@pytest.mark.usefixtures("named")
def test_another_tournament_in_the_folder_is_left_alone(pairs, tmp_path, weights, monkeypatch):
    mine, folder = tmp_path / "best.npz", tmp_path / "run"
    mine.write_bytes(weights.read_bytes())
    config = TournamentConfig(("random", f"network:weights={mine}"), mode="adh-3", games=4, output=str(folder))
    tournament.run(config, Console(quiet=True))

    def refused(what, **changes):
        before = (folder / "result.json").read_bytes()
        with pytest.raises(ValueError) as error:  # noqa: PT011
            tournament.run(dataclasses.replace(config, **changes), Console(quiet=True))
        assert str(error.value) == what
        assert (folder / "result.json").read_bytes() == before and len(pairs) == 1

    def has(given, before):
        return f"{given}: the tournament in {folder} has {before}; give that, or another folder"

    def others(what):
        return f"output='{folder}': holds a tournament with other {what}; give another folder"

    refused(has("games=6", "4"), seed=1, games=6)
    refused(has("agents=random path", f"random network:weights={mine}"), agents=("random", "path"))
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "source_hash", lambda _: "other")
        refused(others("code"))
    tournament.run(dataclasses.replace(config, batch=2), told := Console(file=io.StringIO(), width=200))
    assert len(pairs) == 1 and f"taken from {folder}: 1 pair\n" in told.file.getvalue()
    who = policy_value.make(PolicyValueConfig(mode="adh-3", network="tiny"))
    save_weights(mine, jax.tree.map(lambda leaf: leaf + 1, load_weights(weights)[0]), who.meta)
    refused(others("networks"))
    stored = json.loads((folder / "result.json").read_text())
    older = stored | {"settings": {name: value for name, value in stored["settings"].items() if name != "seed"}}
    (folder / "result.json").write_text(json.dumps(older))
    refused(has("seed=0", "nothing"))
    (folder / "result.json").write_text("[]")
    with pytest.raises(ValueError, match=r"result\.json: torn, or of no tournament \(TypeError\); give another folder, or "):
        tournament.run(config, Console(quiet=True))
    assert (folder / "result.json").read_text() == "[]" and len(pairs) == 1


@pytest.mark.parametrize("shard", ["", "1/2"])
@pytest.mark.parametrize(
    ("file", "found", "owner"),
    [
        ("result.json", {"job": "match", "settings": {}}, "match"),
        ("result.json", {"settings": {"planner": "", "opponent": "", "games": 3}}, "match"),
        ("settings.json", {"job": "train-alphaze", "seed": 3}, "train-alphaze"),
    ],
)
def test_a_folder_in_which_another_job_has_written_is_refused(shard, file, found, owner, pairs, tmp_path):
    (tmp_path / file).write_text(json.dumps(found))
    config = TournamentConfig(("random", "path"), mode="adh-3", games=4, output=str(tmp_path), shard=shard)
    with pytest.raises(ValueError, match=rf"^output='{tmp_path}': holds the {file} of {owner}; give another folder, or move"):
        tournament.run(config, Console(quiet=True))
    assert [path.name for path in tmp_path.iterdir()] == [file] and json.loads((tmp_path / file).read_text()) == found
    assert pairs == []


def test_who_sees_all_is_marked(pairs):
    console = Console(file=io.StringIO(), width=200)
    config = TournamentConfig(("random", "true_sight:num_simulations=2"), mode="adh-3", games=2)
    tournament.run(config, console)
    assert "true_sight:num_simulations=2 (sees all)" in console.file.getvalue()
    tournament.run(dataclasses.replace(config, mode="hex-3"), again := Console(file=io.StringIO(), width=200))
    assert "(sees all)" not in again.file.getvalue()  # everybody does


def leave(*arguments):
    with pytest.raises(SystemExit) as stop:
        run_main(tournament.run, TournamentConfig, arguments)
    return stop.value.code


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Weights of a network for 3 x 3 cells, never trained."""
    who = policy_value.make(PolicyValueConfig(mode="adh-3", network="tiny"))
    path = tmp_path_factory.mktemp("weights") / "best.npz"
    random, shapes = np.random.default_rng(0), jax.eval_shape(who.init, jax.random.key(0))
    save_weights(path, jax.tree.map(lambda leaf: random.normal(0, 0.1, leaf.shape).astype(np.float32), shapes), who.meta)
    return path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--agents", "random", "guesses"], "agent='guesses': must be one of random, path, fdts, mcts, "),
        (["--agents", "random", "path:depth=2"], "agent='path:depth=2': path has no settings"),
        (["--agents", "random", "pimc:num_worlds=few"], "agent='pimc:num_worlds=few': num_worlds='few' must be a whole number"),
        (["--agents", "random", "pimc:num_worlds=0"], "num_worlds=0: must be >= 1"),
        (["--agents", "random", "network"], "agent='network': must be network:weights=FILE"),
        (["--agents", "random", "path", "true_sight:split=1"], "agent='true_sight:split=1': 'split=1' is none of weights, "),
        (["--agents", "random", "network:weights=nothing.npz"], "weights nothing.npz: cannot be read (No such file or "),
        (["--agents", "random", "random"], "agents=random random: must be two or more with spaces between them, each named once"),
        (["--agents", "random"], "agents=random: must be two or more with spaces between them, each named once"),
        (["--agents", "random", "true_sight:num_simulations=3000000000"], "num_simulations=3000000000: must be < 2147483648"),
        (
            ["--game", "hero_academy", "--agents", "random", "oep:num_evaluations=99999999999999999999"],
            "num_evaluations=99999999999999999999: must be < 2147483648",
        ),
        (
            ["--mode", "adh-19", "--agents", "random", "pc_pimc:num_simulations=2000000", "--games", "2"],
            "pc_pimc:num_simulations=2000000: the match needs ",
        ),
        (["--games", "3"], "games=3: must be even, because seats are changed half-way"),
        (["--batch", "0"], "batch=0: must be >= 1"),
        (["--seed", "-1"], "seed=-1: must be in 0..4294967295"),
        (["--mode", "adh-1"], "board_size=1: must be in 2..19"),
        (["--mode", "dark"], "mode='dark': must be one of hex, adh, cdh"),
        (["--game", "chess"], "game='chess': must be one of pommerman, hex"),
        (["--game", "pommerman", "--mode", "ffa", "--agents", "simple", "random"], "game='pommerman': has 4 players; a round"),
    ],
)
def test_bad_input_is_one_line(arguments, told, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runtime, "free_memory", lambda: 2**33)
    monkeypatch.setattr(tournament.evaluate, "play", lambda *_, **__: pytest.fail("played"))
    assert leave(*arguments, "--output", str(tmp_path / "run")) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {told}") and error.count("\n") == 1
    assert not (tmp_path / "run" / "result.json").exists()


def test_weights_of_another_board_are_refused(weights, capsys):
    assert leave("--agents", "random", f"network:weights={weights}", "--mode", "adh-5") == 2
    told = f"error: weights {weights}: of mode 'adh-3' with planes 3 x 3 x 8, and here they are 5 x 5 x 8\n"
    assert capsys.readouterr().err == told


def test_true_sight_may_keep_its_tree():
    game = jaxgames.make("hex", "adh-3")
    sizes = [agents.make(f"true_sight:num_simulations=4,reuse={reuse}", game).init(1).num_nodes for reuse in (0, 1)]
    assert sizes == [5, 10]


def test_weights_of_the_same_board_serve_other_rules(weights):
    """Also by the folder that holds them."""
    game = jaxgames.make("hex", "cdh-3")
    agent = agents.make(f"network:weights={weights.parent}", game)
    infos = jax.tree.map(lambda leaf: leaf[None], jax.device_get(jax.jit(game.init_information)(np.int32(0))))
    act = jax.jit(lambda params, keys: agent.act(params, keys, (), infos, jnp.zeros(1, jnp.int32), None)[0])
    assert 0 <= int(act(agent.params, jax.random.split(KEY, 1))[0]) < 9
