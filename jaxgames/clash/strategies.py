"""Strategies of play, found in recorded battles: what counts as one is said exactly here, and nothing is asked of the players.

Positions are told in the frame of the player in question, in thousandths of a tile; a lane is a half of the arena, left or right.
All numbers are of states half a second apart. A unit is the same from state to state as long as its age goes on as the clock.

* **tank**: a troop with at least 1500 full hit points has passed the own bank of the river and is the foremost own troop of its
  lane; 1 to 7 tiles behind it is an own troop of that lane with a reach of at least 3 tiles. It counts once for each such tank,
  when this has held for two seconds.
* **counter**: a troop or building is played within 6 tiles of an enemy troop that is on the own half or the river and that it can
  aim at, and that enemy is dead within ten seconds.
* **hedge**: a troop is played in one of the four middle columns and the rows behind the princess towers (0 to 4), while no enemy
  troop is on the own half: it may still go to either lane.
* **kite**: an enemy troop on the own half or the river aims at a tower; within two seconds of a play it aims at a unit of that
  play, and within four more it has gone at least 1.5 tiles, to a place no nearer to that tower.
* **race**: both players have a troop that aims at a tower in its reach, in different lanes of the arena, for two seconds; neither
  plays a card into the lane in which it is attacked meanwhile. It counts once for both, when it has held so long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxgames.clash.cards import Card
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import COLUMNS, HEIGHT, RIVER, TILE, TOWERS, WIDTH
from jaxgames.clash.state import stayed
from jaxgames.clash.tables import unit_columns
from jaxgames.clash.zones import centre_of

TANK_HP, TANK_REACH, TANK_NEAR, TANK_FAR = 1_500, 3_000, 1_000, 7_000
COUNTER_AWAY, COUNTER_STEPS = 6_000, 20
HEDGE_COLUMNS, HEDGE_ROWS = range(7, 11), range(5)
KITE_STEPS, KITE_CHASE, KITE_WAY = 4, 8, 1_500
LONG_STEPS = 4  # two seconds


class Moment(NamedTuple):
    """When a player does something.

    Attributes:
      step: of the state in which it is seen.
      player: who.
      what: name of the unit or card.
    """

    step: int
    player: int
    what: str


class _Side(NamedTuple):
    """Troops as one player sees them over the states of a battle, [T + 1, H] each; `own` or the enemy's.

    Attributes:
      troop: bool, alive and neither tower nor building.
      x, y: in the player's frame.
      unit: rows.
      target: slots of the other side, -1: none.
      new: bool, set down or born since the state before.
    """

    troop: np.ndarray
    x: np.ndarray
    y: np.ndarray
    unit: np.ndarray
    target: np.ndarray
    new: np.ndarray


class _Battle(NamedTuple):
    """A battle as one player sees it.

    Attributes:
      own, enemy: their troops.
      towers: positions of the own towers, int [3, 2].
      plays: int [T, 3], the card that was played in each step (-1: none), its column and row.
      alive: bool [2, T + 1, H], the own and the enemy's.
    """

    own: _Side
    enemy: _Side
    towers: np.ndarray
    plays: np.ndarray
    alive: np.ndarray


def find(config: ClashConfig, states: Any) -> dict[str, list[Moment]]:
    """Finds the strategies of both players in a battle.

    Args:
      config: the battle.
      states: leaves [T + 1, ...]: the start and the state after every step.

    Returns:
      Moments by strategy, in order.
    """
    arrays = {name: np.asarray(value) for name, value in vars(states).items()}
    views = [_seen_by(config, arrays, player) for player in range(2)]
    found: dict[str, list[Moment]] = {name: [] for name in STRATEGIES}
    for player, view in enumerate(views):
        for name, look in _OF_PLAYERS.items():
            found[name] += [Moment(step, player, what) for step, what in look(config, player, view)]
    found["race"] = _races(config, views)
    return {name: sorted(moments) for name, moments in found.items()}


def _seen_by(config: ClashConfig, arrays: dict[str, np.ndarray], player: int) -> _Battle:
    stands = np.array([unit.kind != "troop" for unit in config.table.units])
    past = arrays["past"][1:, player, 0].astype(int)

    def side(who: int) -> _Side:
        alive, unit = arrays["alive"][:, who], arrays["unit"][:, who]
        x, y = arrays["x"][:, who].astype(int), arrays["y"][:, who].astype(int)
        if who != player:
            x, y = WIDTH - x, HEIGHT - y
        new = alive & ~np.concatenate([alive[:1], stayed(alive, arrays["age"][:, who], arrays["tick"])])
        return _Side(alive & ~stands[unit], x, y, unit, arrays["target"][:, who].astype(int), new)

    own = side(player)
    towers = np.stack([own.x[0, :TOWERS], own.y[0, :TOWERS]], axis=1)
    return _Battle(own, side(1 - player), towers, past, arrays["alive"][:, [player, 1 - player]].swapaxes(0, 1))


def _right(x: Any) -> Any:
    return x > WIDTH // 2


def _name(config: ClashConfig, row: Any) -> str:
    return config.table.units[int(row)].name


def _tanks(config: ClashConfig, player: int, battle: _Battle) -> list[tuple[int, str]]:
    columns, own = unit_columns(config), battle.own
    hp, reach = columns.hp[player][own.unit], columns.reach[player][own.unit]
    found: list[tuple[int, str]] = []
    held = np.zeros(own.troop.shape[1], int)
    for step, troops in enumerate(own.troop):
        lane = _right(own.x[step])
        same_lane = troops & (lane[:, None] == lane)  # [H, H]
        foremost = own.y[step] >= np.where(same_lane, own.y[step], -1).max(1)
        behind = own.y[step][:, None] - own.y[step]
        followed = (same_lane & (behind >= TANK_NEAR) & (behind <= TANK_FAR) & (reach[step] >= TANK_REACH)).any(1)
        leads = troops & (hp[step] >= TANK_HP) & (own.y[step] >= RIVER[0]) & foremost & followed
        held = np.where(own.new[step], 0, held)
        counted = held > LONG_STEPS  # this one has been counted
        held = np.where(counted, held, np.where(leads, held + 1, 0))
        begun = np.flatnonzero(~counted & (held == LONG_STEPS + 1))
        found += [(step, _name(config, own.unit[step, slot])) for slot in begun]
    return found


def _at_home(enemy: _Side, step: int) -> np.ndarray:
    """Enemy troops on the own half or the river, bool [H]."""
    home: np.ndarray = enemy.troop[step] & (enemy.y[step] < RIVER[1])
    return home


def _counters(config: ClashConfig, player: int, battle: _Battle) -> list[tuple[int, str]]:
    enemy, found = battle.enemy, []
    for step, card, x, y in _plays(config, battle):
        if not card.unit:
            continue
        row = config.table.unit_ids[card.unit]
        aims = unit_columns(config).accepts[player][row] & unit_columns(config).layer[1 - player][enemy.unit[step]]
        close = (enemy.x[step] - x) ** 2 + (enemy.y[step] - y) ** 2 <= COUNTER_AWAY**2
        met = np.flatnonzero(_at_home(enemy, step) & close & (aims != 0))
        if any(_dies(battle, int(slot), step, step + COUNTER_STEPS) for slot in met):
            found.append((step + 1, card.name))
    return found


def _dies(battle: _Battle, slot: int, first: int, last: int) -> bool:
    """Says whether the enemy's unit in a slot is gone within some steps."""
    after = slice(first + 1, last + 1)
    return bool((~battle.alive[1][after, slot] | battle.enemy.new[after, slot]).any())


def _hedges(config: ClashConfig, player: int, battle: _Battle) -> list[tuple[int, str]]:
    del player
    return [
        (step + 1, card.name)
        for step, card, x, y in _plays(config, battle)
        if card.type == "troop"
        and x // TILE in HEDGE_COLUMNS
        and y // TILE in HEDGE_ROWS
        and not _at_home(battle.enemy, step).any()
    ]


def _kites(config: ClashConfig, player: int, battle: _Battle) -> list[tuple[int, str]]:
    del player
    enemy, own, found = battle.enemy, battle.own, []
    last = len(enemy.troop) - 1
    for step, card, _, _ in _plays(config, battle):
        brought = config.table.unit_ids.get(card.unit or card.spawn, -1)
        mine = np.flatnonzero(own.new[step + 1] & (own.unit[step + 1] == brought))
        aimed = enemy.target[step]
        for slot in np.flatnonzero(_at_home(enemy, step) & (aimed >= 0) & (aimed < TOWERS)):
            turned = next(
                (now for now in range(step + 1, min(step + KITE_STEPS, last) + 1) if enemy.target[now, slot] in mine), None
            )
            if turned is None or _dies(battle, int(slot), step, turned):
                continue
            tower = battle.towers[aimed[slot]]
            if _goes_off(enemy, int(slot), turned, tower, last):
                found.append((turned, card.name))
                break
    return found


def _goes_off(enemy: _Side, slot: int, begin: int, tower: np.ndarray, last: int) -> bool:
    """Says whether a unit has gone far enough within some steps, and no nearer to a tower."""
    start = np.array([enemy.x[begin, slot], enemy.y[begin, slot]])
    for now in range(begin + 1, min(begin + KITE_CHASE, last) + 1):
        if not enemy.troop[now, slot] or enemy.new[now, slot]:
            return False
        here = np.array([enemy.x[now, slot], enemy.y[now, slot]])
        far = ((here - start) ** 2).sum() >= KITE_WAY**2
        if far and ((here - tower) ** 2).sum() >= ((start - tower) ** 2).sum():
            return True
    return False


def _races(config: ClashConfig, views: list[_Battle]) -> list[Moment]:
    """Runs of states in which both attack, in different lanes, while neither defends there; each counts once for each player."""
    found: list[Moment] = []
    held, lanes = 0, (False, False)
    for step in range(len(views[0].own.troop)):
        now = [_attacked_lanes(config, player, view, step) for player, view in enumerate(views)]
        # Lanes as the first player sees them; what is right of one is left of the other.
        pairs = [(a, b) for a in now[0] for b in (not lane for lane in now[1]) if a != b]
        if held and lanes in pairs and not _defended(views, step, lanes):
            held += 1
        else:
            held, lanes = (1, pairs[0]) if pairs else (0, lanes)
        if held == LONG_STEPS + 1:
            found += [Moment(step, player, "both") for player in range(2)]
    return found


def _attacked_lanes(config: ClashConfig, player: int, view: _Battle, step: int) -> set[bool]:
    """Lanes, True for the right one of the player, in which a troop of the player has a tower in its reach."""
    own, columns = view.own, unit_columns(config)
    lanes = set()
    for slot in np.flatnonzero(own.troop[step] & (own.target[step] >= 0) & (own.target[step] < TOWERS)).tolist():
        tower = view.towers[own.target[step, slot]]
        x, y = WIDTH - tower[0], HEIGHT - tower[1]
        reach = columns.reach[player][own.unit[step, slot]] + columns.radius[1 - player][0 if own.target[step, slot] < 2 else 1]
        if (own.x[step, slot] - x) ** 2 + (own.y[step, slot] - y) ** 2 <= reach**2:
            lanes.add(bool(_right(own.x[step, slot])))
    return lanes


def _defended(views: list[_Battle], step: int, lanes: tuple[bool, bool]) -> bool:
    """Says whether somebody has played a card into the lane in which it is attacked, in the step before a state."""
    for player, view in enumerate(views):
        attacked = lanes[1 - player] if player == 0 else not lanes[0]
        card, column, _ = view.plays[step - 1]
        if card >= 0 and bool(_right(column * TILE + TILE // 2)) == attacked:
            return True
    return False


def _plays(config: ClashConfig, battle: _Battle) -> Iterator[tuple[int, Card, int, int]]:
    """Gives steps in which a card was played, with the card and the centre of its tile."""
    for step in np.flatnonzero(battle.plays[:, 0] >= 0).tolist():
        card, column, row = battle.plays[step].tolist()
        yield step, config.table.cards[card], *centre_of(row * COLUMNS + column)


_OF_PLAYERS = {"tank": _tanks, "counter": _counters, "hedge": _hedges, "kite": _kites}
STRATEGIES = (*_OF_PLAYERS, "race")
