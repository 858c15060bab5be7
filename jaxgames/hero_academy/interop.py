"""States as the plain arrays of the reference implementation, and back; its numbering of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxgames.bits import Bits
from jaxgames.hero_academy import actions, cards, draws, units
from jaxgames.hero_academy.actions import OFFSETS
from jaxgames.hero_academy.config import MOST_ACTION_POINTS, MOST_TURNS, HeroAcademyConfig
from jaxgames.hero_academy.state import Board, State

FIELDS = (
    "player",
    "turn",
    "ap",
    "terminal",
    "winner",
    "unit_class",
    "unit_owner",
    "unit_hp",
    "unit_equip",
    "hand",
    "deck",
    "deck_seed",
)

_RANGES = {
    "player": (1, 2),
    "turn": (1, MOST_TURNS),
    "ap": (0, MOST_ACTION_POINTS),
    "terminal": (0, 1),
    "winner": (-1, 2),
    "unit_class": (units.EMPTY, units.CRYSTAL),
    "unit_owner": (0, 2),
    "unit_equip": (0, (1 << len(units.ITEM_NAMES)) - 1),
    "hand": (0, cards.MOST_OF_A_KIND),
    "deck": (0, cards.MOST_OF_A_KIND),
    "deck_seed": (0, draws.MOST_SEED),
}


def to_arrays(config: HeroAcademyConfig, states: State) -> dict[str, np.ndarray]:
    """Gives many states ([N]) as the arrays of `FIELDS`.

    Returns:
      player: uint8 [N], 1 or 2, who is to move; turn: int16 [N], from 1 on; ap: uint8 [N], action points that are left.
      terminal: uint8 [N], 1 where the game is over; winner: int8 [N], 1 or 2, 0 for a draw, -1 while the game runs.
      unit_class: uint8 [N, rows, columns], by `units.UNIT_NAMES`; unit_owner: uint8 likewise, 1 or 2, 0 where nothing stands.
      unit_hp: int16 [N, rows, columns], hit points, 0 of a unit that is knocked down; unit_equip: uint8 likewise, 1 << number of
        each piece of equipment, by `units.ITEM_NAMES`.
      hand, deck: uint8 [N, 2, cards], how many of each card both players have, by `cards.CARD_NAMES`.
      deck_seed: int32 [N, 2], what seeded draws go by.
    """
    board = states.board
    shape = (-1, config.grid.rows, config.grid.columns)

    def number(planes: tuple[Bits, ...], dtype: Any) -> np.ndarray:
        digits = np.stack([config.grid.to_numpy(plane) for plane in planes], -1).astype(np.int64)
        return (digits << np.arange(len(planes))).sum(-1).astype(dtype).reshape(shape)

    occupied = config.grid.to_numpy(board.occupied)
    owner = occupied * (1 + config.grid.to_numpy(board.second))
    over, winner = np.asarray(states.terminated), np.asarray(states.winner)
    return {
        "player": np.asarray(states.player).astype(np.uint8) + 1,
        "turn": np.asarray(states.turn).astype(np.int16),
        "ap": np.asarray(states.action_points).astype(np.uint8),
        "terminal": over.astype(np.uint8),
        "winner": np.where(over, winner + 1, -1).astype(np.int8),
        "unit_class": number(board.kinds, np.uint8),
        "unit_owner": owner.astype(np.uint8).reshape(shape),
        "unit_hp": number(board.hit_points, np.int16),
        "unit_equip": number(board.items, np.uint8),
        "hand": np.stack([counts_of(fields) for fields in states.hands], 1),
        "deck": np.stack([counts_of(fields) for fields in states.decks], 1),
        "deck_seed": np.stack([np.asarray(seed) for seed in states.seeds], 1).astype(np.int32),
    }


def from_arrays(config: HeroAcademyConfig, arrays: Mapping[str, np.ndarray]) -> State:
    """Makes states [N] from arrays as `to_arrays` gives them, of any integer types.

    Positions made by hand are welcome: points, turns and cards may be others than the config's games come to.

    Raises:
      ValueError: an array is missing, has another shape or type, or holds what no state can.
    """
    lacking = [name for name in FIELDS if name not in arrays]
    if lacking:
        raise ValueError(f"no states of Hero Academy: lacks {', '.join(lacking)}")
    count = len(np.atleast_1d(arrays["player"]))
    grid = (count, config.grid.rows, config.grid.columns)
    shapes: dict[str, tuple[int, ...]] = {name: grid for name in FIELDS if name.startswith("unit")}
    shapes |= {"hand": (count, 2, cards.NUM_CARDS), "deck": (count, 2, cards.NUM_CARDS), "deck_seed": (count, 2)}
    for name in FIELDS:
        check_form(name, arrays[name], shapes.get(name, (count,)))
    flat: dict[str, Any] = {name: np.asarray(arrays[name]).reshape(count, -1).astype(np.int64) for name in FIELDS}
    for name, (least, most) in _RANGES.items():
        check_range(name, flat[name], least, most)
    _check_what_fits(flat)
    kinds, hit_points, items = flat["unit_class"], flat["unit_hp"], flat["unit_equip"]
    most_hit_points = units.most_hit_points(kinds, items)

    def plane(mask: np.ndarray) -> Bits:
        return config.grid.from_numpy(mask.reshape(grid) != 0)

    def digits(number: np.ndarray, bits: int) -> tuple[Bits, ...]:
        return tuple(plane((number >> digit) & 1) for digit in range(bits))

    board = Board(
        kinds=digits(kinds, units.KIND_BITS),
        second=plane(flat["unit_owner"] == 2),
        alive=plane(hit_points > 0),
        hurt=plane((kinds > 0) & (hit_points != most_hit_points)),
        items=digits(items, len(units.ITEM_NAMES)),
        hit_points=digits(hit_points, units.HIT_POINT_BITS),
    )

    def pair(name: str, convert: Callable[[np.ndarray], Any]) -> tuple:
        both = flat[name].reshape(count, 2, -1)
        return convert(both[:, 0]), convert(both[:, 1])

    def fields(counts: np.ndarray) -> Any:
        shifts = cards.FIELD_BITS * np.arange(cards.NUM_CARDS)
        return (counts << shifts).sum(-1).astype(np.uint32)

    over = flat["terminal"][:, 0] != 0
    winner: Any = np.where(over, flat["winner"][:, 0] - 1, -1).astype(np.int8)
    zero: Any = np.zeros(count, np.int8)  # numpy where a State says jax: the two are interchangeable outside jit
    return State(
        board=board,
        hands=pair("hand", fields),
        decks=pair("deck", fields),
        seeds=pair("deck_seed", lambda seed: seed[:, 0].astype(np.int32)),
        player=(flat["player"][:, 0] - 1).astype(np.int8),
        action_points=flat["ap"][:, 0].astype(np.int8),
        turn=flat["turn"][:, 0].astype(np.int16),
        winner=winner,
        terminated=over,
        seat_rewards=(zero, zero),
    )


def check_form(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raises unless an array holds integers and has this shape."""
    if np.shape(array) != shape:
        raise ValueError(f"{name}: shape {np.shape(array)}, must be {shape}")
    if not np.issubdtype(np.asarray(array).dtype, np.integer):
        raise ValueError(f"{name}: dtype {np.asarray(array).dtype}, must be an integer type")


def check_range(name: str, values: np.ndarray, least: int, most: int) -> None:
    """Raises unless all of some integers are in a range."""
    wrong = values[(values < least) | (values > most)]
    if wrong.size:
        raise ValueError(f"{name}: {wrong.flat[0]} is out of range, must be in {least}..{most}")


def _check_what_fits(flat: Mapping[str, np.ndarray]) -> None:
    """Raises unless the fields of every state, [N, ...], are such as can be together."""
    kinds, owners, hit_points = flat["unit_class"], flat["unit_owner"], flat["unit_hp"]
    most = units.most_hit_points(kinds, flat["unit_equip"])
    for row, cell in np.argwhere((hit_points < 0) | (hit_points > most))[:1]:
        raise ValueError(f"unit_hp: {hit_points[row, cell]} of a {units.UNIT_NAMES[kinds[row, cell]]}, in state {row}")
    fallen = (kinds == units.CRYSTAL) & (hit_points == 0)
    for row, _ in np.argwhere(fallen)[:1]:
        raise ValueError(f"unit_hp: 0 of a crystal, which would not stand any more, in state {row}")
    bare = (kinds == units.EMPTY) | (kinds == units.CRYSTAL)
    for row, cell in np.argwhere(bare & (flat["unit_equip"] > 0))[:1]:
        where = "an empty cell" if kinds[row, cell] == units.EMPTY else "a crystal"
        raise ValueError(f"unit_equip: {flat['unit_equip'][row, cell]} on {where}, must be 0 there, in state {row}")
    if ((kinds > 0) != (owners > 0)).any():
        raise ValueError("unit_owner: must be 1 or 2 where something stands, and 0 elsewhere")
    held = flat["hand"].reshape(len(kinds), 2, -1).sum(2)
    for row, seat in np.argwhere(held > cards.HAND_SIZE)[:1]:
        raise ValueError(f"hand: {held[row, seat]} cards of player {seat + 1}, must be at most {cards.HAND_SIZE}, in state {row}")
    of_a_kind = (flat["hand"] + flat["deck"]).reshape(len(kinds), 2, -1)
    for row, seat, card in np.argwhere(of_a_kind > cards.MOST_OF_A_KIND)[:1]:
        found = f"{of_a_kind[row, seat, card]} cards {cards.CARD_NAMES[card]} of player {seat + 1} in hand and deck"
        raise ValueError(f"deck: {found}, must be at most {cards.MOST_OF_A_KIND}, in state {row}")
    ninjas = np.stack([((kinds == units.NINJA) & (owners == owner)).sum(1) for owner in (1, 2)], 1)
    for row, seat in np.argwhere(ninjas > 1)[:1]:
        raise ValueError(f"unit_class: {ninjas[row, seat]} ninjas of player {seat + 1}, must be at most 1, in state {row}")
    over, winner = flat["terminal"][:, 0] != 0, flat["winner"][:, 0]
    for row in np.flatnonzero(over != (winner >= 0))[:1]:
        valid = "0..2 where the game is over" if over[row] else "-1 while the game runs"
        raise ValueError(f"winner: {winner[row]}, must be {valid}, in state {row}")


def counts_of(fields: Any) -> np.ndarray:
    """Gives the cards of hands or decks (uint32 [...]) as counts, uint8 [..., 11]."""
    shifts = cards.FIELD_BITS * np.arange(cards.NUM_CARDS, dtype=np.uint32)
    return ((np.asarray(fields)[..., None] >> shifts) & 3).astype(np.uint8)


# --- the reference's flat numbers of actions ---------------------------------------------------------------------------


def num_flat(config: HeroAcademyConfig) -> int:
    """How many flat numbers there are; the last is End Turn."""
    cells = config.num_cells
    return cells * cells + cards.NUM_CARDS * (cells + 1) + 1


def to_flat(config: HeroAcademyConfig) -> np.ndarray:
    """Gives the flat number of each of our actions, int32 [A], but for two kinds: -1 where there is none.

    The ninja's exchanges count from the ninja's cell, and deploy squares are those of the player: see `flat_action`.
    """
    layout, cells = actions.layout(config), config.num_cells
    table = np.full(layout.num_actions, -1, np.int32)
    for offset, (right, down) in enumerate(OFFSETS):
        for cell in range(cells):
            row, column = divmod(cell, config.grid.columns)
            if 0 <= row + down < config.grid.rows and 0 <= column + right < config.grid.columns:
                table[layout.unit(offset, cell)] = cell * cells + cell + down * config.grid.columns + right
    for card in range(cards.NUM_UNIT_CARDS, cards.NUM_CARDS):
        for cell in range(cells):
            table[layout.play(card, cell)] = cells * cells + card * cells + cell
    for card in range(cards.NUM_CARDS):
        table[layout.swap_card(card)] = cells * cells + cards.NUM_CARDS * cells + card
    table[layout.end_turn] = num_flat(config) - 1
    return table


def flat_masks(config: HeroAcademyConfig, states: State, legal: np.ndarray) -> np.ndarray:
    """Turns sets of our actions, bool [N, A], into sets of flat numbers, bool [N, F]."""
    layout, cells = actions.layout(config), config.num_cells
    table = to_flat(config)
    masks = np.zeros((len(legal), num_flat(config)), bool)
    ours = np.flatnonzero(table >= 0)
    masks[:, table[ours]] = legal[:, ours]
    second = np.asarray(states.player) == 1
    for number in range(config.deploy_cells.shape[1]):
        square = config.deploy_cells[second.astype(int), number]
        for card in range(cards.NUM_UNIT_CARDS):
            masks[np.arange(len(legal)), cells * cells + card * cells + square] = legal[:, layout.deploy(card, number)]
    ninja = ninja_cells(config, states)
    for cell in range(cells):
        masks[np.arange(len(legal)), ninja * cells + cell] |= legal[:, layout.trade_with(cell)]
    return masks


def ninja_cells(config: HeroAcademyConfig, states: State) -> np.ndarray:
    """Cells of the living ninja of the player to move, int [N]; 0 where there is none."""
    board = states.board
    ninjas = config.grid.to_numpy(board.of_kind(units.NINJA) & board.alive) != 0
    mine = config.grid.to_numpy(board.second) == np.asarray(states.player)[:, None]
    return (ninjas & mine).argmax(1)


def from_flat(config: HeroAcademyConfig, states: State, flat: np.ndarray) -> np.ndarray:
    """Turns a flat number per state, int [N], into ours: int32 [N].

    Raises:
      ValueError: these are no whole numbers, one per state, or one is out of range or of an action that is possible nowhere.
    """
    layout, cells = actions.layout(config), config.num_cells
    check_form("action", flat, np.shape(states.player))
    check_range("action", np.asarray(flat), 0, num_flat(config) - 1)
    reverse = np.full(num_flat(config), -1, np.int32)
    table = to_flat(config)
    reverse[table[table >= 0]] = np.flatnonzero(table >= 0)
    result = reverse[flat]
    card, target = np.divmod(np.asarray(flat) - cells * cells, cells)
    second = (np.asarray(states.player) == 1).astype(int)
    for number in range(config.deploy_cells.shape[1]):
        deploys = (card >= 0) & (card < cards.NUM_UNIT_CARDS) & (target == config.deploy_cells[second, number])
        result = np.where(deploys, [layout.deploy(int(c) % cards.NUM_CARDS, number) for c in card], result)
    actor, onto = np.divmod(np.minimum(flat, cells * cells - 1), cells)
    rows, board = np.arange(len(result)), states.board
    mine = config.grid.to_numpy(board.second) == np.asarray(states.player)[:, None]
    friends = mine & (config.grid.to_numpy(board.alive) != 0)
    ninjas = friends & (config.grid.to_numpy(board.of_kind(units.NINJA)) != 0)
    trades = (np.asarray(flat) < cells * cells) & ninjas[rows, actor] & friends[rows, onto]
    result = np.where(trades, layout.trade_with(0) + onto, result)
    if (result < 0).any():
        raise ValueError(f"action={int(np.asarray(flat)[result < 0][0])}: is possible in no state")
    return result.astype(np.int32)


def draw_words(deck: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Gives random words by which these cards are drawn, uint32 [6].

    Args:
      deck: counts before, int [11].
      drawn: kinds in the order in which they were drawn, int [k], at most 6.

    Raises:
      ValueError: a card that is not in the deck any more, or too many.
    """
    if len(drawn) > cards.HAND_SIZE:
        raise ValueError(f"{len(drawn)} cards drawn: must be at most {cards.HAND_SIZE}")
    left = np.asarray(deck).astype(int).copy()
    words = np.zeros(cards.HAND_SIZE, np.uint32)
    for number, card in enumerate(drawn):
        if left[card] == 0:
            raise ValueError(f"draw {number}: no {cards.CARD_NAMES[card]} is left in the deck")
        rank, total = int(left[:card].sum()), int(left.sum())
        words[number] = -(-(rank << 32) // total)
        left[card] -= 1
    return words
