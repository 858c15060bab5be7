"""Every number of the rules: pieces, letters, ranks, and the boards of the two games."""

from __future__ import annotations

import numpy as np

RED, BLUE = 0, 1
PLAYERS = ("red", "blue")

# Kinds of pieces, in the order of their strength but for the bomb.
NOTHING = 0
FLAG, SPY, SCOUT, MINER, SERGEANT, LIEUTENANT, CAPTAIN, MAJOR, COLONEL, GENERAL, MARSHAL, BOMB = range(1, 13)
KIND_NAMES = (
    "flag",
    "spy",
    "scout",
    "miner",
    "sergeant",
    "lieutenant",
    "captain",
    "major",
    "colonel",
    "general",
    "marshal",
    "bomb",
)
NUM_KINDS = len(KIND_NAMES)
KIND_BITS = 4
LAKE = -1  # in arrays of boards, where kinds of pieces are > 0
IMMOBILE = (FLAG, BOMB)

# StraDoS2: letters by kind, upper case where hidden from the other player, lower case where both see the piece.
LETTERS = ("MCDEFGHIJKLB", "YOPQRSTUVWXN")
EMPTY_LETTER, LAKE_LETTER, UNMOVED_LETTER, MOVED_LETTER = "a", "_", "?", "!"
FILES = "abcdefghik"  # there is no j
SYMBOLS = (*"FS23456789", "10", "B")  # of pictures, by kind

MOST_SIDE = 10
MOST_OF_A_KIND = 35  # which one digit to the base of 36 can tell
BOARD_SIDE = 10
HOME_ROWS = 4
LAKES = (42, 43, 46, 47, 52, 53, 56, 57)
FULL_PIECES = (1, 1, 8, 5, 4, 4, 4, 3, 2, 1, 1, 6)
BARRAGE_PIECES = (1, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1)
MINI_PIECES = (1, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1)

# Plies after which a game is drawn, by whose rules.
YORKTOWN_PLIES = 3001
ENV_FULL_PLIES, ENV_BARRAGE_PLIES = 2000, 1000

TWICE_LEVEL = 3  # of the two-square rule: the next way back is forbidden

# What a piece is worth to the heuristic, by kind: a marshal counts most, a flag ends the game.
WORTH = np.array([0, 0, 4, 2, 4, 3, 4, 5, 6, 8, 12, 16, 4], np.int32)
