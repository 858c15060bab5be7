"""The SimpleAgent cell by cell, from the written rules (section 10), as exact probabilities: an oracle for tests.

It shares nothing with the bit-plane version: plain Python, board codes, a queue.
"""

from __future__ import annotations

import collections
from typing import NamedTuple

import numpy as np

STOP, UP, DOWN, LEFT, RIGHT, BOMB = range(6)
STEPS = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
PASSAGE, RIGID, WOOD, FLAMES, FOG = 0, 1, 2, 4, 5
ITEMS = (6, 7, 8)
FAR = 10**6


class Case(NamedTuple):
    """What the agent goes by; cells are (row, column), `recent` has the oldest first."""

    board: np.ndarray
    strength: np.ndarray
    cell: tuple[int, int]
    ammo: int
    blast: int
    enemies: tuple[int, ...]
    recent: tuple[tuple[int, int], ...] = ()
    previous: int = 0


class Outcome(NamedTuple):
    """Probabilities, and which clause decided (of D and what follows: the last one possible)."""

    moves: np.ndarray
    appended: float  # that `recent` has another value afterwards
    changed: float  # that `previous` has
    clause: str


def decide(case: Case) -> Outcome:
    board, (x, y) = case.board, case.cell
    size = len(board)
    bombs = [(r, c, int(case.strength[r, c])) for r in range(size) for c in range(size) if case.strength[r, c] > 0]

    def on_board(r, c):
        return 0 <= r < size and 0 <= c < size

    def passable(r, c):
        code = board[r, c]
        return (code in (PASSAGE, *ITEMS) or code >= 10) and code not in case.enemies

    dist, parents, items = _search(case, on_board, passable)

    def single(move, clause):
        moves = np.zeros(6)
        moves[move] = 1.0
        return Outcome(moves, 0.0, 0.0, clause)

    def among(options, clause):
        moves = np.zeros(6)
        for option in options:
            moves[option] += 1 / len(options)
        return Outcome(moves, 0.0, 0.0, clause)

    unsafe = _unsafe(case, dist, bombs)
    if unsafe:
        return among(*_ways_out(case, unsafe, on_board, passable))

    free = [cell for cell in items.get(PASSAGE, []) if dist[cell] < FAR]
    useful = [cell for cell in free if dist[cell] > case.blast or (cell[0] != x and cell[1] != y)]
    can_bomb = case.ammo >= 1 and bool(useful)
    far = "far " if can_bomb and min(dist[cell] for cell in useful) > 10 else ""
    if can_bomb and any(dist[cell] == 1 for code in case.enemies for cell in items.get(code, [])):
        return single(BOMB, far + "C")

    def nearest(codes, radius):
        answer, limit = None, max(dist.values())
        for code in codes:
            for cell in items.get(code, []):
                if dist[cell] <= radius and dist[cell] <= limit:
                    answer, limit = cell, dist[cell]
        return answer

    def first_moves(cell):
        """Probability of each first move on the way to `cell`."""
        moves = np.zeros(6)
        if dist[cell] == 1:
            moves[next(k for k, (dr, dc) in STEPS.items() if (x + dr, y + dc) == cell)] = 1.0
            return moves
        chance = 1.0
        for i, parent in enumerate(reversed(parents[cell])):
            share = chance / 2 if i < len(parents[cell]) - 1 else chance
            moves += share * first_moves(parent)
            chance -= share
        return moves

    enemy = nearest(case.enemies, 3)
    if enemy is None:
        return _peaceful(case, nearest, first_moves, bombs, can_bomb, far, on_board, passable)
    chase = first_moves(enemy)
    if case.previous == STOP or chase[case.previous] == 0:
        return Outcome(chase, 0.0, 1.0, "D")
    gives_up = chase[case.previous] / 2
    moves = chase.copy()
    moves[case.previous] /= 2
    rest = _peaceful(case, nearest, first_moves, bombs, can_bomb, far, on_board, passable)
    return Outcome(moves + gives_up * rest.moves, gives_up * rest.appended, 1 - chase[case.previous], "D/" + rest.clause)


def _search(case, on_board, passable):
    """A: distances, possible parents in the order in which they were met, candidate cells by code."""
    board, (x, y) = case.board, case.cell
    size = len(board)
    dist, items, parents = {}, collections.defaultdict(list), collections.defaultdict(list)
    for r in range(max(0, x - 10), min(size, x + 10)):
        for c in range(max(0, y - 10), min(size, y + 10)):
            if abs(r - x) + abs(c - y) <= 10 and board[r, c] not in (RIGID, FLAMES, FOG):
                dist[r, c] = 0 if (r, c) == (x, y) else FAR
                items[int(board[r, c])].append((r, c))
    queue = collections.deque([(x, y)])
    while queue:
        r, c = queue.popleft()
        if not passable(r, c):
            continue
        for dr, dc in STEPS.values():
            new = (r + dr, c + dc)
            if new not in dist:
                continue
            if dist[r, c] + 1 < dist[new]:
                dist[new] = dist[r, c] + 1
                parents[new] = [(r, c)]
                queue.append(new)
            elif dist[r, c] + 1 == dist[new]:
                parents[new].append((r, c))
    return dist, parents, items


def _unsafe(case, dist, bombs):
    """B: direction -> strength, in the order of insertion."""
    x, y = case.cell
    unsafe = {}
    for r, c, strength in bombs:
        if dist.get((r, c), FAR) > strength:
            continue
        if (r, c) == (x, y):
            directions = (RIGHT, LEFT, UP, DOWN)
        elif r == x:
            directions = (RIGHT if c > y else LEFT,)
        elif c == y:
            directions = (DOWN if r > x else UP,)
        else:
            directions = ()
        for direction in directions:
            unsafe[direction] = max(unsafe.get(direction, 0), strength)
    return unsafe


def _ways_out(case, unsafe, on_board, passable):
    x, y = case.cell

    def stuck(start, strength):
        seen, queue = {start}, [start]
        while queue:
            r, c = queue.pop()
            if (r != start[0] and c != start[1]) or abs(r - start[0]) + abs(c - start[1]) > strength:
                return False
            for dr, dc in STEPS.values():
                new = (r + dr, c + dc)
                if new not in seen and new != (x, y) and on_board(*new) and passable(*new):
                    seen.add(new)
                    queue.append(new)
        return True

    if len(unsafe) == 4:
        for direction, strength in unsafe.items():
            new = (x + STEPS[direction][0], y + STEPS[direction][1])
            if on_board(*new) and passable(*new) and not stuck(new, strength):
                return [direction], "B four"
        return [STOP], "B lost"
    there = {k: (x + dr, y + dc) for k, (dr, dc) in STEPS.items() if on_board(x + dr, y + dc)}
    safe = [k for k, cell in there.items() if k not in unsafe and (passable(*cell) or case.board[cell] == FOG)]
    if safe:
        return safe, "B"
    walls = [k for k in unsafe if k in there]
    return (walls, "B walls") if walls else ([STOP], "B stop")


def _peaceful(case, nearest, first_moves, bombs, can_bomb, far, on_board, passable):
    """E to H."""
    x, y = case.cell
    moves = np.zeros(6)
    item = nearest(ITEMS, 2)
    if item is not None:
        return Outcome(first_moves(item), 0.0, 0.0, "E")
    if nearest((WOOD,), 1) is not None:
        moves[BOMB if can_bomb else STOP] = 1.0
        return Outcome(moves, 0.0, 0.0, (far if can_bomb else "no ") + "F")

    def safe(direction):
        dr, dc = STEPS.get(direction, (0, 0))
        r, c = x + dr, y + dc
        return not any(
            (r == br and abs(c - bc) <= strength) or (c == bc and abs(r - br) <= strength) for br, bc, strength in bombs
        )

    wood = nearest((WOOD,), 2)
    chance = 1.0
    if wood is not None:
        way = first_moves(wood)
        for direction in STEPS:
            if safe(direction):
                moves[direction] += way[direction]
                chance -= way[direction]
    if chance < 1e-9:
        return Outcome(moves, 0.0, 0.0, "G")
    there = {k: (x + dr, y + dc) for k, (dr, dc) in ((STOP, (0, 0)), *STEPS.items())}
    options = [k for k in there if on_board(*there[k]) and passable(*there[k]) and safe(k)]
    options = [k for k in options if there[k] not in case.recent] or options
    if len(options) > 1:
        options = [k for k in options if k != STOP]
    for option in options or [STOP]:
        moves[option] += chance / len(options or [STOP])
    after = (*case.recent, case.cell)[-6:]
    return Outcome(moves, chance if after != case.recent else 0.0, 0.0, "H" if chance > 1 - 1e-9 else "G/H")
