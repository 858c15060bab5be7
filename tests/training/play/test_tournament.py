"""Round robins: seats, starts, tables that add up, and what the command line refuses."""

import dataclasses
import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from jaxgames.agent import Agent, memoryless
from tests.tug import PULL, REST, Tug, steady_player
from training.jobs import figures as figures_module
from training.jobs.figures import cross_table_figure
from training.play import elo, tournament
from training.play.cross_table import CrossTable
from training.play.tournament import TournamentConfig, play_pair, round_robin
from training.storage.files import output_folder

KEY = jax.random.key(5)
GAMES = 20


def choose(chances, keys, views, seats):
    """Pulls by a chance that hangs on the seat and on whether it is behind, else rests."""
    pulls = jax.vmap(jax.random.uniform)(keys) < chances[seats, (views < 0).astype(jnp.int32)]
    return jnp.where(pulls, PULL, REST)


PLAYER = memoryless("pulls or rests", choose)


def player(*chances) -> Agent:
    """By seat: how often it pulls, and how often where it is behind. All of them share what is compiled."""
    return PLAYER._replace(params=np.array(chances, np.float32))


PLAYERS = {name: player((chance, chance), (chance, chance)) for name, chance in (("pulls", 1), ("random", 1 / 3), ("rests", 0))}


@pytest.fixture(scope="module", params=["sure", pytest.param("slips", marks=pytest.mark.slow)])
def game(request):
    return Tug(slips=request.param == "slips")


@pytest.fixture(scope="module")
def table(game):
    told = []
    return round_robin(game, PLAYERS, KEY, GAMES, batch_size=5, report=told.append), told


# --- pairs -------------------------------------------------------------------------------------------------------------


def test_both_sit_in_both_seats_from_the_same_starts():
    """Who gives up where it is behind loses what begins so, and a start in the middle is a draw."""
    points = play_pair(Tug(), [player((1, 0), (1, 0)) for _ in range(2)], KEY, GAMES, batch_size=5)
    np.testing.assert_array_equal(points[: GAMES // 2] + points[GAMES // 2 :], 1)
    assert set(points[: GAMES // 2].tolist()) == {0, 0.5, 1}


@pytest.mark.slow  # to compile
@pytest.mark.parametrize(("first", "points"), [(PULL, 1), (REST, 0)])
def test_points_are_those_of_the_first_agent(first, points):
    pair = [steady_player(first), steady_player(PULL + REST - first)]
    np.testing.assert_array_equal(play_pair(Tug(), pair, KEY, 6), np.full(6, points))


def test_the_first_half_is_played_in_the_first_seat():
    points = play_pair(Tug(), [player((1, 1), (0, 0)), PLAYERS["rests"]], KEY, GAMES, batch_size=5)
    np.testing.assert_array_equal(points, [1] * (GAMES // 2) + [0.5] * (GAMES // 2))


def test_a_pair_of_four_is_refused():
    with pytest.raises(ValueError, match=r"^game='pommerman': has 4 players; a round robin needs a game of two$"):
        play_pair(jaxgames.make("pommerman", "ffa"), [], KEY, 2)
    for number in (0, 3, -2):
        with pytest.raises(ValueError, match=f"^num_games={number}: must be even and at least 2, because seats are "):
            play_pair(Tug(), [], KEY, number)


# --- tables ------------------------------------------------------------------------------------------------------------


def test_points_and_games_of_a_round_robin_add_up(table):
    found, told = table
    assert found.names == tuple(PLAYERS)
    np.testing.assert_array_equal(found.games, GAMES * (1 - np.eye(3)))
    np.testing.assert_array_equal(found.points + found.points.T, found.games)
    assert (found.first_points <= found.points).all() and (found.points - found.first_points <= GAMES / 2).all()
    assert (found.draws == found.draws.T).all() and (found.draws <= found.games).all()
    assert ((2 * found.points - found.draws) % 2 == 0).all()
    assert told[0] == f"pulls - random: {found.points[0, 1]:g} - {found.points[1, 0]:g}" and len(told) == 3
    assert found.ratings[0] == 0 and (np.diff(found.ratings) < 0).all()  # to pull is best, to rest is worst


def test_pairs_play_games_of_their_own(game, table):
    key = jax.random.fold_in(jax.random.fold_in(KEY, 0), 1)
    result = play_pair(game, [PLAYERS["pulls"], PLAYERS["random"]], key, GAMES, batch_size=5)
    found, _ = table
    assert (found.points[0, 1], found.first_points[0, 1]) == (result.sum(), result[: GAMES // 2].sum())
    assert found.draws[0, 1] == (result == 0.5).sum()
    assert found.first_points[1, 0] == GAMES / 2 - result[GAMES // 2 :].sum()


def test_a_table_is_shown_best_first(table):
    found, _ = table
    turned = CrossTable(
        found.names[::-1], *(part[::-1, ::-1] for part in (found.points, found.games, found.first_points, found.draws))
    )
    console = Console(file=io.StringIO(), width=150)
    console.print(turned.shown())
    printed = console.file.getvalue()
    places = [printed.index(f"{place} {name}") for place, name in enumerate(("pulls", "random", "rests"), 1)]
    assert places == sorted(places)
    share = 100 * found.points[0].sum() / (2 * GAMES)
    assert f"{share:.1f} (" in printed and "+0 ± 0" in printed  # the first given is the one whose Elo is 0
    stored = json.loads(json.dumps(turned.as_dict()))
    assert stored["elo"] == [round(x, 1) for x in elo.fit(turned.points, turned.games)] and stored["elo"][0] == 0
    assert stored["elo_standard_error"][0] == 0 < min(stored["elo_standard_error"][1:])


def test_names_are_shown_as_they_are(table):
    found, _ = table
    odd = dataclasses.replace(found, names=(r"x=$\frac{$", "[/a]", "[bold]"))
    console = Console(file=io.StringIO(), width=150)
    console.print(odd.shown())
    figure = cross_table_figure(odd)
    for name in odd.names:
        assert name in console.file.getvalue() and name in figure


def test_long_names_have_room_in_the_picture(table, monkeypatch):
    """Every text of the figure lies in it, and numbers on dark cells are white."""
    figures = []
    monkeypatch.setattr(figures_module, "as_svg", lambda figure: figures.append(figure) or "")
    long = "pc_pimc:num_simulations=100,weights=/home/someone/" + "folder/" * 6 + "x" * 100
    points = np.array([[0, 99, 50], [1, 0, 50], [50, 50, 0]])
    found = dataclasses.replace(table[0], points=points, games=100 * (1 - np.eye(3, dtype=int)))
    for names in ((long, "b", "c"), ("a", "b", "c")):
        cross_table_figure(dataclasses.replace(found, names=names))
        figure = figures[-1]
        figure.draw_without_rendering()
        width, height = figure.bbox.size
        axes = figure.axes[0]
        for label in [figure._suptitle, *axes.get_yticklabels(), *axes.get_xticklabels()]:
            box = label.get_window_extent()
            assert box.x0 > -1 and box.x1 < width + 1 and box.y0 > -1 and box.y1 < height + 1, label.get_text()
        assert "".join(axes.get_yticklabels()[0].get_text().split("\n")).startswith(f"1  {names[0]} (+")
        assert {text.get_text(): text.get_color() for text in axes.texts} == {"99": "white", "1": "white", "50": "black"}


def test_one_player_is_no_tournament():
    with pytest.raises(ValueError, match=r"^1 players: a tournament needs at least two$"):
        round_robin(Tug(), {"alone": steady_player(REST)}, KEY, 2)
    with pytest.raises(ValueError, match=r"^players: a list, must be agents by their names, such as "):
        round_robin(Tug(), [steady_player(REST)] * 2, KEY, 2)


# --- runs --------------------------------------------------------------------------------------------------------------


def test_what_a_run_writes(tmp_path):
    console = Console(file=io.StringIO(), width=150)
    config = TournamentConfig(("random", "path"), mode="hex-3", games=20, output=str(tmp_path / "new[/a]" / "folder"))
    with output_folder(config.output), pytest.raises(OSError, match="in use by process"):
        tournament.run(config, console)
    result = tournament.run(config, console)
    assert {path.name for path in (tmp_path / "new[/a]" / "folder").iterdir()} == {"result.json", "cross_table.svg"}
    stored = json.loads((tmp_path / "new[/a]" / "folder" / "result.json").read_text())
    assert stored == json.loads(json.dumps(result))
    assert stored["names"] == ["random", "path"] and stored["settings"]["mode"] == "hex-3" and stored["seconds"] > 0
    assert stored["points"][1][0] > 12 and stored["elo"][1] > 0  # who looks for ways beats who does not
    assert "<svg" in (tmp_path / "new[/a]" / "folder" / "cross_table.svg").read_text()
    assert "random - path: " in console.file.getvalue() and "new[/a]" in console.file.getvalue()
    again = tournament.run(config, Console(file=io.StringIO()))
    assert again["points"] == result["points"]


@pytest.mark.slow
def test_a_pair_of_hero_academy():
    config = TournamentConfig(("random", "best_rated"), game="hero_academy", mode="tiny", games=4)
    result = tournament.run(config, Console(quiet=True))
    assert np.array(result["games"]).tolist() == [[0, 4], [4, 0]] and np.sum(result["points"]) == 4


def test_an_earlier_table_of_other_players_is_refused():
    earlier = CrossTable(("a", "b"), *[np.zeros((2, 2))] * 4)
    with pytest.raises(ValueError, match=r"^earlier=a, b: must be the same players, pulls, random, rests$"):
        round_robin(Tug(), PLAYERS, KEY, 2, earlier=earlier)
