"""Games at the page: who may do what, steps back, the clock, saved games, and agents that are slow or broken."""

import contextlib
import dataclasses
import json
import sys
import threading
import time
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.agent import memoryless
from jaxgames.hero_academy import cards
from jaxgames.page import Board, board_of
from jaxgames.registration import bot
from tests.jaxgames.hero_academy import positions as hero
from tests.tic_tac_toe import REGISTRATION
from tests.tic_tac_toe.bots import careful_agent
from training.play import evaluate
from training.web import cast as casts
from training.web.cast import Cast, Casts, seated
from training.web.desk import MOST_ADVISERS, Desk
from training.web.saved import SavedGame, read
from training.web.session import Refused, Session
from training.web.shown import Shower
from training.web.watching import Watching, saved_game

MAY_MOVE = threading.Event()  # what a slow agent waits for


def slow_agent(game):
    """The careful player, who takes all the time that he is given."""
    careful = careful_agent(game, REGISTRATION.agents[1].settings())

    def late(actions):
        assert MAY_MOVE.wait(timeout=120)
        return actions

    def act(params, keys, memory, views, seats, active):
        actions, memory = careful.act(params, keys, memory, views, seats, active)
        return jax.pure_callback(late, jax.ShapeDtypeStruct(actions.shape, actions.dtype), actions), memory

    return careful._replace(name="slow", act=act)


def broken_agent(game):
    """Fails at its move."""
    del game

    def choose(params, keys, views, seats):
        raise RuntimeError("no idea")

    return memoryless("broken", choose, sees_state=True)


@pytest.fixture(scope="module")
def game():
    patch = pytest.MonkeyPatch()
    patch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    agents = (*REGISTRATION.agents, bot("slow", slow_agent), bot("broken", broken_agent))
    jaxgames.register(dataclasses.replace(REGISTRATION, agents=agents))
    yield jaxgames.make("tic_tac_toe")
    patch.undo()


@pytest.fixture(scope="module")
def cast(game):
    return Cast(game, "standard", ("you", "careful"))


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.005)


def play(session, *cells):
    for cell in cells:
        until(lambda: session.awaits_person)
        session.act(cell, len(session.actions))
    until(lambda: session.awaits_person or session.moments[-1].over)


def test_a_person_plays_against_an_agent(cast):
    session = Session(cast, 3)
    play(session, 0)
    assert len(session.actions) == 2 and session.actions[1][1] == 4, "the careful player takes the middle"
    play(session, 1)
    assert session.actions[3][1] == 2, "and hinders a line of three"
    play(session, 3)
    assert session.actions[5][1] == 6, "and completes its own"
    assert session.moments[-1].over and session.moments[-1].outcome.tolist() == [-1, 1]
    assert [Shower(session).view(at)["won"] for at in (0, 5, 6)] == [0, 0, -1]
    session.close()


def test_who_wins_with_a_teammate_has_won():
    session = SimpleNamespace(
        still=contextlib.nullcontext,
        moments=[SimpleNamespace(over=True, state=None, asked=np.zeros(4, bool), outcome=np.array([1, -1, 1, -1]))],
        game_number=0,
    )
    board = SimpleNamespace(status=lambda *_: "", picture=lambda *_: "")
    game = SimpleNamespace(num_players=4)
    for person, won in ((0, 1), (1, -1), (None, 0)):
        session.cast = SimpleNamespace(board=board, person=person, game=game, name_of=lambda seat: "abcd"[seat])
        view = Shower(session).view(0)
        assert (view["won"], view["result"]) == (won, "a and c win")


def test_each_step_is_told_once_until_it_is_taken_back(cast, monkeypatch):
    session, told = Session(cast, 3), []
    shower, happened = Shower(session), Board.happened
    monkeypatch.setattr(Board, "happened", lambda *arguments: told.append(arguments[3:5]) or happened(*arguments))
    play(session, 0, 1)
    first = shower.state(0, -1)["log"]
    assert shower.state(0, -1)["log"] == first and len(told) == 4
    session.take_back()
    play(session, 3)
    again = shower.state(0, -1)["log"]
    assert again[:2] == first[:2] and again[2]["moves"][0][1] == "action 3" and len(told) == 6
    session.close()


def test_what_is_not_possible_is_refused(cast):
    session = Session(cast, 3)
    for action, at, words in (
        (0, 1, "step 1 is over"),
        (99, 0, "action 99 is not legal"),
        (-1, 0, "not legal"),
        (9, 0, "not legal"),
    ):
        with pytest.raises(Refused, match=words):
            session.act(action, at)
    with pytest.raises(Refused, match="nothing to take back"):
        session.take_back()
    with pytest.raises(Refused, match=r"step 7: must be in 0\.\.0"):
        session.take_back(7)
    with pytest.raises(Refused, match="seconds=nan: must be in"):
        session.set_clock(True, float("nan"))
    assert session.actions == []
    session.close()


def test_steps_are_taken_back_and_played_again(cast):
    session = Session(cast, 3)
    play(session, 0, 1)
    before = list(session.actions)
    session.take_back()
    assert session.actions == before[:2] and session.awaits_person
    play(session, 1)
    assert session.actions == before, "the same random numbers in the same step"
    session.take_back(0)
    play(session, 8)
    assert session.actions[0] == (8, 9)
    session.close()


def test_an_agent_that_thinks_keeps_nobody_waiting(game):
    MAY_MOVE.set()
    session = Session(Cast(game, "standard", ("you", "slow")), 0)
    play(session, 0)  # and it has been compiled
    MAY_MOVE.clear()
    session.act(1, 2)
    until(lambda: session.thinking == {1})
    with pytest.raises(Refused, match="it is not your turn"):
        session.act(3, 3)
    session.take_back(0)  # while it thinks: its answer is about a game that is no more
    session.new_game(5)
    assert session.actions == [], "none of this has waited for it"
    MAY_MOVE.set()
    session.act(2, 0)
    until(lambda: len(session.actions) == 2)
    assert session.actions[0] == (2, 9)
    session.close()


def test_an_agent_that_fails_stops_its_game_alone(game):
    session = Session(Cast(game, "standard", ("you", "broken")), 0)
    session.act(0, 0)
    until(lambda: session.failure)
    assert "RuntimeError: no idea" in session.failure
    session.take_back()
    assert session.failure == "" and session.awaits_person
    session.close()


def test_agents_play_by_the_clock(game):
    session = Session(Cast(game, "standard", ("careful", "random")), 0)
    time.sleep(0.05)
    assert session.actions == [] and session.all_at_once and not session.awaits_person
    with pytest.raises(Refused, match="agents play this game"):
        session.act(0, 0)
    session.set_clock(True, 0.02)
    until(lambda: session.moments[-1].over)
    assert session.moments[-1].outcome[0] >= 0
    session.close()


def test_by_the_clock_an_action_for_a_step_that_is_over_counts_for_the_next(cast):
    session = Session(cast, 0)
    play(session, 0)
    with pytest.raises(Refused, match="step 0 is over"):
        session.act(1, 0)
    session.set_clock(True, 60.0)
    session.act(1, 0)
    assert session.actions[2] == (1, 9)
    session.close()


def test_a_saved_game_is_gone_on_with(cast):
    session = Session(cast, 11)
    play(session, 0, 1)
    text = session.saved().to_text()
    saved, game = read(text)
    again = Session(Casts(cast).of(game, saved.mode, saved.agents), saved.seed, saved=saved)
    assert again.cast is cast and again.actions == session.actions and again.saved() == session.saved()
    np.testing.assert_array_equal(again.moments[-1].state.board, session.moments[-1].state.board)
    session.close()
    again.close()


WHOLE = {"format": "jaxgames game", "version": 1, "game": "tic_tac_toe", "mode": "standard", "seed": 1, "number": 0, "start": 0}
WHOLE |= {"agents": ["you", "careful"], "actions": [[0, 9]]}


@pytest.mark.usefixtures("game")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(WHOLE)[:-9], "is no JSON, or only a part of it"),
        ("[" * 100_000, "is no JSON"),
        ("1" * 5000, "is no JSON"),
        ("[1, 2]", 'must be an object with "format"'),
        (json.dumps(WHOLE | {"version": 7}), "version=7: must be 1"),
        (json.dumps(WHOLE | {"game": "chess"}), "game='chess': must be one of"),
        (json.dumps(WHOLE | {"mode": "wild"}), "mode='wild'"),
        (json.dumps(WHOLE | {"mode": None}), "mode=None: must be a name"),
        (json.dumps(WHOLE | {"seed": -1}), "seed=-1: must be a whole number"),
        (json.dumps(WHOLE | {"seed": True}), "seed=True: must be a whole number"),
        (json.dumps(WHOLE | {"agents": ["you"]}), "must be 2 names"),
        (json.dumps(WHOLE | {"actions": [[0]]}), "must be 2 actions"),
        (json.dumps(WHOLE | {"actions": [[0, 10]]}), "step 0, action=10: must be in"),
        (json.dumps(WHOLE | {"actions": [[0, 9]] * 10}), "at most 9 steps"),
    ],
)
def test_files_that_are_no_saved_games_are_told_in_one_line(text, words):
    with pytest.raises(ValueError, match=words) as error:
        read(text)
    assert "\n" not in str(error.value)


def test_saved_games_with_illegal_actions_or_agents_are_refused(cast):
    full = [[0, 9], [9, 4], [1, 9], [9, 8], [2, 9], [9, 3]]
    for actions, words in (([[9, 9]], "step 0: your action=9 is not legal"), (full, "step 5: the game is over")):
        saved, _ = read(json.dumps(WHOLE | {"actions": actions}))
        with pytest.raises(ValueError, match=words):
            Session(cast, 1, saved=saved)
    with pytest.raises(ValueError, match="agent='nobody': must be one of"):
        Casts(cast).of(cast.game, "standard", ("you", "nobody"))
    with pytest.raises(ValueError, match="reads a file; start the server with it"):
        Casts(cast).of(cast.game, "standard", ("you", "fdts:guide=/etc/passwd"))


def test_agents_may_do_what_is_not_legal_with_the_result_that_the_game_documents(cast):
    saved, _ = read(json.dumps(WHOLE | {"actions": [[0, 9], [9, 0]]}))
    session = Session(cast, 1, saved=saved)
    assert session.actions == [(0, 9), (9, 0)] and session.awaits_person, "a cell that is taken: the turn passes"
    session.close()


def test_who_sits_where(game):
    assert seated(game, (), 0) == ("you", "random") and seated(game, ("careful",), 1) == ("careful", "you")
    assert seated(game, ("careful", "random"), 0) == ("careful", "random")
    hidden = jaxgames.make("pommerman", "team")
    assert seated(hidden, ("simple",), 2) == ("simple", "simple", "you", "simple")
    assert seated(hidden, (), 0) == ("you", "simple", "fdts", "simple"), "the usual planner plays beside a person"
    for given, seat, words in (((), 2, r"seat=2: must be in 0\.\.1"), (("a", "b", "c"), 0, "must be 2, or 1 beside you")):
        with pytest.raises(ValueError, match=words):
            seated(game, given, seat)
    with pytest.raises(ValueError, match="you may stand there once"):
        casts.Cast(game, "standard", ("you", "you"))


class Shelf:
    """What `Watching` asks of a desk."""

    def __init__(self):
        self.live = {}

    def show_live(self, number, session):
        self.live[number] = session


def test_games_of_a_match_are_shown_as_they_are_played(game):
    shelf, told = Shelf(), []
    watching = Watching(shelf, game, "standard", ("careful", "random"), 4)
    players = [casts.Cast(game, "standard", (name, name)).mind(0).agent for name in ("careful", "random")]

    def watch(games):
        told.append((games.actions >= 0).any(-1).sum())
        watching(games)

    played = evaluate.play(game, players, jax.random.key(4), 3, record=3, watch=watch)
    assert told[0] == 0 and told[-1] == played.lengths.sum()
    assert sorted(shelf.live) == [0, 1, 2]
    session = shelf.live[1]
    assert session.cast.specs == saved_game(game, "standard", ("careful", "random"), 4, 1, played.seats[1]).agents
    assert session.actions == [], "nobody watches"
    session.set_clock(True, 0.02)
    session.watched(1)
    until(lambda: session.moments[-1].over)
    assert session.actions == [tuple(row) for row in played.actions[1][: played.lengths[1]].tolist()]
    states = evaluate.replay(game, jax.random.key(4), 1, played)
    np.testing.assert_array_equal(session.moments[-1].state.board, states.board[-1])
    with pytest.raises(Refused, match="played elsewhere"):
        session.take_back()
    for each in shelf.live.values():
        each.close()


def test_a_message_does_not_tell_what_is_hidden():
    board = board_of(jaxgames.make("hero_academy", "hidden"))
    state = hero.position({(1, 1): "K"}, hand=("scroll",), other_hand=("scroll",), deck=("knight", "wizard"))
    action = hero.LAYOUT.swap_card(cards.CARD_NAMES.index("scroll"))
    for seat, person, line in (
        (1, 0, {"moves": [[1, "swap a card"]], "spots": []}),
        (0, 0, {"moves": [[0, "swap scroll"]], "spots": [f"h{action - hero.LAYOUT.swap_card(0)}", "deck"]}),
    ):
        moment = SimpleNamespace(asked=np.arange(2) == seat, over=False, state=state)
        cast = SimpleNamespace(board=board, person=person)
        session = SimpleNamespace(moments=[moment, moment], actions=[(action, action)], cast=cast)
        assert Shower(session).line(0) == line


def test_where_too_many_games_begin_those_that_are_watched_end_last(cast, monkeypatch):
    monkeypatch.setattr("training.web.desk.MOST_SESSIONS", 2)
    desk = Desk(cast, 0)
    first, second = desk.open("").session, desk.open("").session
    first.watched(1)
    third = desk.open("").session
    assert second.ended and not first.ended
    with pytest.raises(Refused, match="this game was ended, as too many others have begun"):
        second.new_game(1)
    third.watched(1)
    desk.open("")
    assert first.ended and not third.ended, "all are watched: the oldest"
    desk.close()


def test_after_the_last_seed_comes_the_first(cast):
    """A game's seed is one that a saved game may have."""
    desk = Desk(cast, 2**32 - 1)
    session = desk.open("").session
    session.new_game(desk.new_seed())
    assert session.saved().seed == 0 == read(session.saved().to_text())[0].seed
    desk.close()


def test_advisers_that_were_made_first_give_way(cast):
    desk = Desk(cast, 0)
    session = desk.open("").session
    specs = [f"mcs:num_simulations={number}" for number in range(2, 9)]
    made = [desk.adviser(session, spec) for spec in specs]
    assert len(desk._advisers) == MOST_ADVISERS
    assert desk.adviser(session, specs[-1]) is made[-1] and desk.adviser(session, specs[0]) is not made[0]
    desk.close()


def test_sessions_end_with_their_threads(cast):
    session = Session(cast, 0)
    name = f"game {session.name}"
    assert any(thread.name == name for thread in threading.enumerate())
    session.close()
    until(lambda: not any(thread.name == name for thread in threading.enumerate()))
    assert isinstance(session.saved(), SavedGame)
