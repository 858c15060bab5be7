"""Every number of the Pommerman rules, by name. Codes are those of the official environment."""

from __future__ import annotations

import enum


class Cell(enum.IntEnum):
    """Board codes; agent `i` is `AGENT_0 + i`."""

    PASSAGE = 0
    RIGID = 1
    WOOD = 2
    BOMB = 3
    FLAMES = 4
    FOG = 5
    EXTRA_BOMB = 6
    INCREASE_RANGE = 7
    KICK = 8
    DUMMY = 9
    AGENT_0 = 10


class Move(enum.IntEnum):
    """What an agent does with its body; in radio mode an action also carries two words."""

    STOP = 0
    UP = 1
    DOWN = 2
    LEFT = 3
    RIGHT = 4
    BOMB = 5


class Result(enum.IntEnum):
    """How the official environment names the end of a game (a loss is never reported)."""

    WIN = 0
    LOSS = 1
    TIE = 2
    INCOMPLETE = 3


class GameType(enum.IntEnum):
    """The official `game_type`."""

    FFA = 1
    TEAM = 2
    RADIO = 3
    ONE_VS_ONE = 4


NUM_MOVES = len(Move)
NUM_WORDS = 9  # words 0..8: the declared range is 0..7, the documentation says 1..8, senders of nothing say 0
NUM_MESSAGES = NUM_WORDS * NUM_WORDS
WORDS_PER_MESSAGE = 2

START_AMMO = 1
START_BLAST_STRENGTH = 2
MAX_AMMO = 10
MAX_BLAST_STRENGTH = 10
BOMB_LIFE = 10  # ticked to 9 in the very step it is laid
FLAME_LIFE = 2  # lives 2, 1, 0 are seen; three boards show a flame
MAX_STEPS = 800
VIEW_RADIUS = 4
MAX_UNREACHABLE_PASSAGES = 4

LIFE_DIGITS = 4  # 0..10
STRENGTH_DIGITS = 4  # 2..10
OWNER_DIGITS = 2
ITEM_DIGITS = 2  # 0 none, else code - 5
FIRST_ITEM = int(Cell.EXTRA_BOMB)
NUM_ITEM_KINDS = 3
