"""Random situations for SimpleAgents, far more varied than games: crowded, walled in, full of power-ups or of bombs."""

from __future__ import annotations

import numpy as np

from jaxgames.pommerman.config import PommermanConfig
from tests.jaxgames.pommerman.simple_reference import Case

# Shares of passages, rigid walls, wood, bombs, flames, power-ups.
LANDSCAPES = {
    "mixed": (0.50, 0.15, 0.12, 0.05, 0.04, 0.14),
    "open": (0.85, 0.05, 0.03, 0.03, 0.01, 0.03),
    "walls": (0.46, 0.42, 0.05, 0.03, 0.02, 0.02),
    "bombs": (0.50, 0.18, 0.08, 0.20, 0.02, 0.02),
    "items": (0.02, 0.22, 0.04, 0.01, 0.01, 0.70),
}
DUMMY = 9


def draw_cases(config: PommermanConfig, count: int, seed: int) -> list[Case]:
    """Draws situations; every landscape in turn."""
    rng = np.random.default_rng(seed)
    return [_draw(config, tuple(LANDSCAPES.values())[i % len(LANDSCAPES)], rng) for i in range(count)]


def _draw(config: PommermanConfig, shares, rng: np.random.Generator) -> Case:
    size, seats = config.board_size, config.num_players
    kinds = rng.choice(6, (size, size), p=shares)
    board = np.where(kinds == 5, rng.integers(6, 9, (size, size)), kinds).astype(np.uint8)
    strength = np.where(board == 3, rng.integers(2, config.max_blast_strength + 1, board.shape), 0).astype(np.uint8)
    seat = int(rng.integers(seats))
    cell = tuple(int(v) for v in rng.integers(0, size, 2))
    places = _places(cell, size, seats - 1, rng)
    on_bomb = rng.random(seats) < 0.2
    for other, place in zip([seat, *(s for s in range(seats) if s != seat)], [cell, *places], strict=True):
        if other == seat or rng.random() < 0.7:
            board[place] = 10 + other
            strength[place] = rng.integers(2, config.max_blast_strength + 1) if on_bomb[other] else 0
    if config.view_radius is not None:
        rows, columns = np.indices(board.shape)
        hidden = np.maximum(abs(rows - cell[0]), abs(columns - cell[1])) > config.view_radius
        board, strength = np.where(hidden, 5, board).astype(np.uint8), np.where(hidden, 0, strength).astype(np.uint8)
    if config.is_team:
        enemies = tuple(10 + s for s in range(seats) if (s + seat) % 2)
    else:
        enemies = tuple(10 + s for s in range(seats) if s != seat)
    near = [(min(max(cell[0] + dr, 0), size - 1), min(max(cell[1] + dc, 0), size - 1)) for dr, dc in rng.integers(-1, 2, (6, 2))]
    return Case(
        board=board,
        strength=strength,
        cell=cell,
        ammo=int(rng.integers(0, 3)),
        blast=int(rng.integers(2, config.max_blast_strength + 1)),
        enemies=(*enemies, *(DUMMY,) * (3 - len(enemies))),
        recent=tuple(near[: rng.integers(0, 7)]),
        previous=int(rng.integers(0, 5)),
    )


def _places(cell: tuple[int, int], size: int, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draws different cells for the others, mostly near."""
    places: list[tuple[int, int]] = []
    while len(places) < count:
        spread = rng.choice([2, size])
        place = tuple(int(v) for v in np.array(cell) + rng.integers(-spread, spread + 1, 2))
        if place != cell and place not in places and min(place) >= 0 and max(place) < size:
            places.append(place)
    return places


def to_arrays(cases: list[Case]) -> dict[str, np.ndarray]:
    """Writes situations as a recording does, but for its results."""
    recent = np.full((len(cases), 6, 2), -1, np.int8)
    for i, case in enumerate(cases):
        for j, cell in enumerate(case.recent):
            recent[i, j] = cell
    board = np.stack([case.board for case in cases])
    strength = np.stack([case.strength for case in cases])
    return {
        "board": board,
        "bomb_blast_strength": strength,
        "bomb_life": np.where(strength > 0, 5, 0).astype(np.uint8),
        "bomb_moving_direction": np.zeros_like(strength),
        "flame_life": np.where(board == 4, 2, 0).astype(np.uint8),
        "position": np.array([case.cell for case in cases], np.int8),
        "ammo": np.array([case.ammo for case in cases], np.int8),
        "blast_strength": np.array([case.blast for case in cases], np.int8),
        "can_kick": np.zeros(len(cases), np.uint8),
        "enemies": np.array([case.enemies for case in cases], np.uint8),
        "recent": recent,
        "prev_direction": np.array([case.previous for case in cases], np.uint8),
    }
