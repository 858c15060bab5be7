"""Numbers of the rules that do not belong to a card. Lengths are in thousandths of a tile, times in ticks of 0.1 s."""

from __future__ import annotations

import numpy as np

TILE = 1000
COLUMNS, ROWS = 18, 32
NUM_TILES = COLUMNS * ROWS
WIDTH, HEIGHT = COLUMNS * TILE, ROWS * TILE
RIVER = (15_000, 17_000)  # y of its banks
BRIDGES = ((2_500, 4_500), (13_500, 15_500))  # x of centres that may stand on them, own-left first
BRIDGE_INSET = 250  # so far inside a bridge walks aim that come from beside it
MOST_PUSH = 300  # of collisions, per tick and axis
WINDUP_SLACK = 1_500  # so far a target may leave the reach of a blow that has begun

TICKS_PER_STEP = 5
TICKS_PER_SECOND = 10
ELIXIR = 28  # units of one elixir
MOST_ELIXIR = 10
REGULAR_TICKS, OVERTIME_TICKS = 1_800, 1_200

HAND, QUEUE = 4, 4
DECK = HAND + QUEUE
PAST = 10  # own actions that are remembered
LEVEL, MOST_LEVEL = 11, 14
BARREL_DEPLOY_TICKS, BARREL_RADIUS = 11, 550

TOWERS = 3
KING = 2  # its slot
PRINCESS_UNIT, KING_UNIT = 0, 1  # rows of the unit table
TOWER_X = np.array([3_500, 14_500, 9_000], np.int32)  # own frame
TOWER_Y = np.array([6_500, 6_500, 3_000], np.int32)
FOOTPRINTS = ((2, 5, 5, 8), (13, 5, 16, 8), (7, 1, 11, 5))  # tiles: first column, first row, past the last of both
DEPLOY_ROWS = 15
BACK_ROW_COLUMNS = (6, 12)  # of row 0; first and past the last
POCKET_ROWS = (17, 21)
POCKET_COLUMNS = ((9, 18), (0, 9))  # that open when the enemy's tower 0 or 1 is down: his left is on my right

# Classes of what can be hit, as bits.
GROUND, AIR, GROUND_BUILDING, AIR_BUILDING = 1, 2, 4, 8

RUNNING, DRAW = -1, 2  # winners beside the players
