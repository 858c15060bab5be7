"""The SimpleUnbiasedAgent cell by cell, as pomcpp2's is described, given its orders and its draws: an oracle for tests.

It shares nothing with the bit-plane version: plain Python, board codes, a queue. Cells are (row, column).
"""

from __future__ import annotations

import collections
from typing import NamedTuple

import numpy as np

STOP, UP, DOWN, LEFT, RIGHT, BOMB = range(6)
STEPS = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
PASSAGE, WOOD, ITEMS, FIRST_AGENT = 0, 2, (6, 7, 8), 10


class Case(NamedTuple):
    """What the agent goes by.

    `queue` has its four entries, of which the first `count` count; `directions` is the order of the moves for a safe step,
    `stray` the move if it strays, and `second` whether it takes the second of two directions.
    """

    board: np.ndarray
    strength: np.ndarray
    life: np.ndarray
    cell: tuple[int, int]
    ammo: int
    enemies: tuple[int, ...]  # seats
    queue: tuple[tuple[int, int] | None, ...]
    count: int
    seats: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    directions: tuple[int, ...]
    stray: int
    second: bool


class Outcome(NamedTuple):
    move: int
    target: tuple[int, int]  # appended to the queue
    clause: str


def decide(case: Case) -> Outcome:
    move, clause = _decide(case)
    return Outcome(move, _target(case.cell, move), clause)


def _target(cell, move):
    change = STEPS.get(move, (0, 0))
    return cell[0] + change[0], cell[1] + change[1]


def _decide(case: Case):
    board, (y0, x0) = case.board, case.cell
    size = len(board)
    bombs = [(*map(int, at), int(case.strength[tuple(at)]) - 1, int(case.life[tuple(at)])) for at in np.argwhere(case.strength)]
    agents = {int(board[tuple(at)]) - FIRST_AGENT: tuple(map(int, at)) for at in np.argwhere(board >= FIRST_AGENT)}
    enemies = {seat: at for seat, at in agents.items() if seat in case.enemies}

    def walkable(at):
        return 0 <= at[0] < size and 0 <= at[1] < size and board[at] in (PASSAGE, *ITEMS)

    def danger(at):
        times = [
            life
            for y, x, reach, life in bombs
            if (y == at[0] and abs(x - at[1]) <= reach) or (x == at[1] and abs(y - at[0]) <= reach)
        ]
        return min(times, default=0)

    def safe(at, least=2):
        return danger(at) == 0 or danger(at) >= least

    distance, parent = {case.cell: 0}, {}
    waiting = collections.deque([case.cell])
    while waiting:
        here = waiting.popleft()
        for move in (DOWN, UP, RIGHT, LEFT):
            there = _target(here, move)
            if there not in distance and (walkable(there) or there in agents.values()):
                distance[there], parent[there] = distance[here] + 1, here
                if walkable(there):
                    waiting.append(there)

    def toward(at):
        if distance.get(at, 0) == 0:
            return STOP
        while parent[at] != case.cell:
            at = parent[at]
        return next(move for move in STEPS if _target(case.cell, move) == at)

    def far(at):
        return abs(at[0] - y0) + abs(at[1] - x0)

    radius, flees = danger(case.cell), ""
    if radius > 0:
        flees = "A/"
        move = next((toward(at) for at in _looked_at(case, radius) if distance.get(at, 0) > 0 and safe(at)), STOP)
        if walkable(_target(case.cell, move)) and safe(_target(case.cell, move)):
            return move, "A"
    elif case.ammo > 0:
        if any(far(at) <= 1 for at in enemies.values()):
            return BOMB, "B"
        if any(far(at) <= 14 for at in enemies.values()):
            if all(case.queue[i] == case.queue[i + 2] for i in range(case.count // 2)):
                return case.stray, "C stray"
            near = (enemies[seat] for seat in case.seats if seat in enemies and far(enemies[seat]) <= 14)
            move = next((toward(at) for at in near if distance.get(at, 0) > 0), STOP)
            if walkable(_target(case.cell, move)) and safe(_target(case.cell, move), 3):
                return move, "C"
        if any(0 <= y < size and 0 <= x < size and board[y, x] == WOOD for y, x in (_target(case.cell, move) for move in STEPS)):
            return BOMB, "D"

    best, chosen = None, STOP
    for y in case.rows:
        for x in case.columns:
            if abs(x - x0) <= 5 and abs(y - y0) <= 5 and board[y, x] in ITEMS and distance.get((y, x), 0) > 0:
                closer = best is None or distance[y, x] < best
                if closer and safe(_target(case.cell, toward((y, x)))):
                    best, chosen = distance[y, x], toward((y, x))
    if chosen != STOP:
        return chosen, flees + "E"
    return _safe_step(
        case, [m for m in case.directions if walkable(_target(case.cell, m)) and safe(_target(case.cell, m))], flees
    )


def _looked_at(case, radius):
    y0, x0 = case.cell
    for y in case.rows:
        for x in case.columns:
            if not (y0 - radius <= y < y0 + radius and x0 - radius <= x < x0 + radius):
                break  # the rest of the row
            if abs(y - y0) + abs(x - x0) <= radius:
                yield y, x


def _safe_step(case, moves, flees):
    if not moves:
        return STOP, flees + "F stop"
    visited = case.queue[: case.count]
    index = 0
    for _ in range(len(moves)):
        if _target(case.cell, moves[index]) in visited:
            removed = moves.pop(index)
            moves.append(moves[index] if index < len(moves) else removed)
        else:
            index += 1
    return moves[int(case.second and len(moves) > 1)], flees + "F"
