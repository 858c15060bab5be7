"""Boards of the page: what is hidden from a seat is not in its picture, and every legal action can be made."""

import dataclasses
import sys
from xml.etree import ElementTree

import jax
import numpy as np

import jaxgames
from jaxgames import page
from jaxgames.clash.scene import Scene
from jaxgames.hero_academy import cards, shapes, units
from jaxgames.hex.interop import from_board
from jaxgames.page import board_of
from jaxgames.pommerman import config as pommerman_config
from jaxgames.pommerman.constants import Cell
from jaxgames.stratego import constants as stratego
from jaxgames.stratego.interop import from_arrays
from tests.jaxgames.hero_academy import positions as hero_positions
from tests.jaxgames.pommerman import positions
from tests.jaxgames.pommerman.positions import Bomb, Man
from tests.tic_tac_toe import REGISTRATION

SVG = "{http://www.w3.org/2000/svg}"


def words_of(picture):
    return "".join(ElementTree.fromstring(picture).itertext())


def numbers_of(state):
    return jax.tree.map(np.asarray, state)


def hides(game, seat, state, other):
    """Checks that a seat sees the same of two states, and whoever sees all does not."""
    board = board_of(game)
    state, other = numbers_of(state), numbers_of(other)
    assert board.picture(state, seat) == board.picture(other, seat)
    assert board.status(state, seat) == board.status(other, seat)
    assert board.picture(state, None) != board.picture(other, None)
    return board


def can_make(game, board, state, seat, actions):
    """Checks that actions are made at spots that are there, each in a way of its own; gives them by name."""
    moves = board.moves(numbers_of(state), seat, actions)
    spots = board.spots()
    svg = ElementTree.fromstring(f"<svg xmlns='{SVG[1:-1]}'>{''.join(spots.values())}</svg>")
    assert len(svg) == len(spots)
    assert all(spot in spots for move in moves for spot in move.spots)
    ways = [(move.spots, "" if move.spots else move.name) for move in moves]
    assert len(set(ways)) == len(ways)
    assert all(0 <= action < game.num_actions for action in board.keys.values())
    return {move.name: move for move in moves}


def test_dark_hex():
    game = jaxgames.make("hex", "adh-3")
    one, two = (np.zeros(9, np.int8) for _ in range(2))
    one[[0, 4, 8]] = two[[0, 4, 7]] = (1, -1, -1)
    found = (np.arange(9) == 4, np.zeros(9, bool))
    states = [
        from_board(game.config, cells.reshape(3, 3), 0, tuple(each.reshape(3, 3) for each in found)) for cells in (one, two)
    ]
    board = hides(game, 0, *states)
    assert board.picture(numbers_of(states[0]), 0).count("url(#stone1)") == 1, "one white stone is known"
    moves = can_make(game, board, states[0], 0, [1, 2, 9])
    assert moves["b1"].spots == ("c1",) and moves["pass"].spots == ()
    assert board.told(states[0], 1, 8, 0) == "" and board.told(states[0], 1, 8, None) == "c3"


def test_the_winning_chain_of_hex_is_drawn_for_those_who_see_it():
    game = jaxgames.make("hex", "adh-3")
    cells = np.zeros(9, np.int8)
    cells[[0, 3, 1, 5]] = (1, 1, -1, -1)
    state = from_board(game.config, cells.reshape(3, 3), 0)
    board = board_of(game)
    won = numbers_of(jax.jit(game.step)(state, np.full(2, 6)))  # a1, a2, a3 join top and bottom
    drawn = [board.picture(won, seat).count("class='chain'") for seat in (0, 1, None)]
    assert won.terminated and drawn == [1, 0, 1], "white has not met black's stones"
    assert "class='chain'" not in board.picture(numbers_of(state), 0)


def test_stratego():
    game = jaxgames.make("stratego", "mini")
    rows, columns = game.config.rows, game.config.columns
    piece, owner = np.zeros(rows * columns, np.int8), np.full(rows * columns, 2, np.int8)
    piece[[0, 1]], owner[[0, 1]] = (stratego.FLAG, stratego.SCOUT), 0
    enemies = rows * columns - 1 - np.arange(3)
    piece[enemies], owner[enemies] = (stratego.FLAG, stratego.SPY, stratego.MARSHAL), 1
    visible = np.isin(piece, (0, stratego.MARSHAL)) | (np.arange(piece.size) == 0)
    arrays = {
        "piece": piece,
        "owner": owner,
        "visible": visible,
        "moved": visible & (piece > stratego.FLAG),
        "player": np.int8(0),
    }
    arrays |= {"ply": np.int16(3)}
    swapped = piece.copy()
    swapped[enemies[:2]] = swapped[enemies[1::-1]]
    states = [from_arrays(game.config, arrays | {"piece": each}) for each in (piece, swapped)]
    board = hides(game, 0, *states)
    told = words_of(board.picture(states[0], 0))
    assert "marshal" in told and "spy" not in told and "scout" in told and told.count("?") == 2
    assert "Hidden: 1 flag, 1 spy" in board.status(states[0], 0)
    from jaxgames.stratego.moves import action_of, table

    moves = can_make(game, board, states[0], 0, [action_of(game.config, 1, cell, 0) for cell in (2, 3, 1 + columns)])
    assert moves["b1–d1"].spots == ("c1", "c3")
    assert board.told(states[0], 1, action_of(game.config, int(enemies[1]), int(enemies[1]) - columns, 1), 0) != ""
    beyond = np.flatnonzero(~table(game.config, 0).inside)[-1].item()
    (move,) = board.moves(numbers_of(states[0]), 0, [beyond])
    assert (move.name, move.spots) == (f"action {beyond}, which is not legal", ())


def test_hero_academy():
    game = jaxgames.make("hero_academy", "hidden")
    things = {(1, 1): "K", (4, 2): "n", (3, 1): ("A", 0, 0)}
    one, two = (
        dataclasses.replace(
            hero_positions.position(things, hand=("archer", "potion", "scroll"), other_hand=held, deck=("knight", left)),
            seeds=(np.int32(5), np.int32(5)),
        )
        for held, left in ((("wizard",), "cleric"), (("cleric",), "wizard"))
    )
    two = dataclasses.replace(two, decks=(one.decks[0], two.decks[1]))
    board = hides(game, 0, one, two)
    assert "the other holds 1 cards, 2 in its deck. Your deck: 2" in words_of(board.picture(one, 0))
    layout = hero_positions.LAYOUT
    archer, potion, scroll = (cards.CARD_NAMES.index(name) for name in ("archer", "potion", "scroll"))
    cell = hero_positions.cell
    given = [
        hero_positions.act((1, 1), (2, 1)),
        layout.deploy(archer, 1),
        layout.play(potion, cell(3, 1)),
        layout.swap_card(scroll),
        layout.end_turn,
    ]
    moves = can_make(game, board, one, 0, given)
    assert moves["knight b2–c2"].spots == (f"c{cell(1, 1)}", f"c{cell(2, 1)}")
    assert moves["archer to a5"].spots == (f"h{archer}", f"c{cell(0, 4)}")
    assert moves["potion on d2"].spots == (f"h{potion}", f"c{cell(3, 1)}") and moves["swap scroll"].spots[1] == "deck"
    assert moves["end turn"].spots == ()
    ninja = can_make(game, board, one, 1, [layout.trade_with(cell(8, 2))])
    assert next(iter(ninja.values())).spots == (f"c{cell(4, 2)}", f"c{cell(8, 2)}")
    assert board.told(one, 1, layout.swap_card(scroll), 0) == "swap a card"
    assert board.told(one, 1, layout.swap_card(scroll), None) == "swap scroll"
    every = board.moves(numbers_of(one), 1, range(game.num_actions))
    assert all(spot in board.spots() for move in every for spot in move.spots)
    off = [move for move in every if move.name == f"action {move.action}, which is not legal"]
    assert len(off) > 100 and 1189 in [move.action for move in off] and not any(move.spots for move in off)
    legal = np.flatnonzero(np.asarray(game.legal_actions(one))[0]).tolist()
    assert not any("not legal" in move.name for move in board.moves(numbers_of(one), 0, legal))
    deploy = layout.deploy(archer, 1)
    for seat, action, viewer, spots in (
        (0, layout.swap_card(scroll), 0, (f"h{scroll}", "deck")),
        (1, layout.swap_card(scroll), 0, ()),
        (1, layout.swap_card(scroll), None, ()),
        (0, deploy, 0, (f"h{archer}", f"c{cell(0, 4)}")),
        (1, deploy, 0, (f"c{cell(8, 4)}",)),
    ):
        assert board.marks(numbers_of(one), seat, action, viewer) == spots, "no marks in the hand of another"


def test_units_and_cards_of_hero_academy_look_the_same_in_pictures_and_on_the_page():
    game, things = jaxgames.make("hero_academy"), {(2, 2): "W", (3, 2): "N", (5, 2): ("k", 500, 15)}
    state = hero_positions.position(things, hand=("wizard", "ninja"))
    shown = board_of(game).picture(numbers_of(state), None)
    for svg, times in ((shown, 2), (game.draw(numbers_of(state)), 2)):  # on the board, and on a card or in the legend
        assert all(svg.count(shapes.UNITS[kind]) == times for kind in (units.WIZARD, units.NINJA))
    badges = [letter for letter in shapes.ITEM_LETTERS if f">{letter}</text>" in shown]
    assert badges == list("drhs"), "no two are alike"


def test_who_watches_agents_at_hero_academy_is_told_whose_turn_and_hand_it_is():
    board = board_of(jaxgames.make("hero_academy"), ["oep:population=5", "oep"])
    state = numbers_of(hero_positions.position({}, player=1, points=3, turn=11, hand=("scroll",), other_hand=("potion",)))
    assert board.status(state, None) == "Turn 11, red (oep) to move, 3 action points left"
    assert board.status(state, 0) == "You play blue. Turn 11, 3 action points left"
    assert board.status(dataclasses.replace(state, terminated=np.bool_(True)), None) == "Turn 11"
    told = words_of(board.picture(state, None))
    assert "red (oep) holds: 1 potion; 2 in its deck. Below: blue (oep), 2 in its deck" in told
    assert "the other's hand: 1 potion; 2 in its deck. Your deck: 2" in words_of(board.picture(state, 0))


def test_clash():
    game = jaxgames.make("clash", "toy")
    scene = Scene(game.config)
    one = scene.state
    hand, queue = np.array(one.hand), np.array(one.queue)
    hand[1], queue[1] = np.array(one.queue)[1], np.array(one.hand)[1]
    elixir = np.array(one.elixir) + np.array([0, 28], np.int16)
    two = dataclasses.replace(one, hand=hand, queue=queue, elixir=elixir, saving=np.array([-1, 2], np.int8))
    board = hides(game, 0, one, two)
    rich = dataclasses.replace(one, elixir=np.full(2, 280, np.int16))
    names = can_make(game, board, rich, 0, [0, 1, 1 + 576 + 20])
    first, second = (game.config.table.cards[int(row)].name for row in np.asarray(one.hand)[0][:2])
    assert names["wait"].spots == () and names[f"{second} at 2, 1"].spots == ("k1", "t20")
    poor = dataclasses.replace(one, elixir=np.zeros(2, np.int16))
    saves = can_make(game, board, poor, 0, [0, 1, 2, 3])
    assert list(saves) == ["wait", f"save for {first}"] and saves[f"save for {first}"].spots == ("k0",)
    assert board.told(poor, 1, 1, 0) == "" and board.told(rich, 1, 1, 0) != ""

    def happened(before, action, *, card=-1):
        """What seat 1 has done, as itself and the other may read it, where this card has come onto the arena."""
        past = np.array(before.past)
        past[1, 0, 0] = card
        return [board.happened(before, dataclasses.replace(before, past=past), 1, action, viewer) for viewer in (1, 0)]

    card = game.config.table.cards[int(rich.hand[1][0])].name
    assert happened(rich, 1, card=int(rich.hand[1][0])) == [f"{card} at 0, 0"] * 2
    assert happened(rich, 1) == happened(rich, 0) == ["wait", ""], "what may not be played there is waiting"
    assert happened(poor, 1) == [f"save for {card}", ""]
    saving = dataclasses.replace(poor, saving=np.array([-1, 2], np.int8))
    assert happened(saving, 1) == ["wait", ""], "it saves for another card already"


def test_pommerman_in_fog():
    config = pommerman_config.preset("team")
    game = jaxgames.make("pommerman", "team")
    drawing = """
    0..........
    .++........
    ...........
    ...........
    ...........
    ...........
    ...........
    ...........
    ...........
    ...........
    1........32
    """
    men = {"m0": Man(ammo=2, strength=3), "m1": Man(), "m2": Man(), "m3": Man()}
    bombs = {(2, 2): Bomb(1, 5, 2, 0)}
    one = positions.position(drawing, bombs=bombs, hidden={(1, 1): Cell.KICK}, config=config, **men)
    other_men = men | {"m1": Man(ammo=5, strength=4)}
    bombs = {(2, 2): Bomb(2, 5, 2, 0), (8, 8): Bomb(1, 5, 2, 0)}
    two = positions.position(drawing.replace("...........\n    1", "......++...\n    1"), bombs=bombs, config=config, **other_men)
    one, two = (jax.tree.map(lambda leaf: leaf[0], state) for state in (one, two))
    words = (np.int8(0), np.int8(0))
    one, two = (dataclasses.replace(state, messages=(words,) * 4 if config.has_messages else ()) for state in (one, two))
    board = hides(game, 0, one, two)
    fallen = [dataclasses.replace(one.bombers[3], cell=np.int8(cell), alive=np.bool_(False)) for cell in (23, 119)]
    hides(game, 0, *(dataclasses.replace(one, bombers=(*one.bombers[:3], bomber)) for bomber in fallen))
    moves = can_make(game, board, one, 0, [0, 2, 4, 5])
    assert moves["down"].spots == ("c11",) and moves["right"].spots == ("c1",) and moves["stop"].spots == ()
    assert board.keys["ArrowUp"] == 1 and board.keys[" "] == 5
    assert board.told(one, 1, 3, 0) == "" and board.told(one, 0, 3, 0) == "left"


def test_a_game_without_a_board_of_its_own(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    jaxgames.register(REGISTRATION)
    game = jaxgames.make("tic_tac_toe")
    board = board_of(game, ["you", "<other>"])
    state = numbers_of(game.init(jax.random.key(0)))
    assert "you - <other>" in words_of(board.picture(state, 0))
    assert [move.name for move in board.moves(state, 0, [3, 9])] == ["action 3", "pass"] and board.spots() == {}
    assert board.told(state, 1, 4, 0) == "action 4", "nothing is hidden"


def test_a_hidden_game_without_a_board_of_its_own_shows_what_the_seat_observes():
    game = jaxgames.make("hex", "adh-3")
    cells = [np.zeros(9, np.int8), np.zeros(9, np.int8)]
    cells[0][[0, 8]] = cells[1][[0, 7]] = (1, -1)
    states = [numbers_of(from_board(game.config, each.reshape(3, 3), 0)) for each in cells]
    board = page.Board(game)
    assert board.picture(states[0], 0) == board.picture(states[1], 0) != board.picture(states[0], 1)
    assert "own" in words_of(board.picture(states[0], 0)) and board.told(states[0], 1, 8, 0) == ""
