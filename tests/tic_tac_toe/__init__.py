"""Tic-tac-toe: a game of a page, in the rooms that every game has, as an author of a game would write it."""

from tests.tic_tac_toe.game import TicTacToe
from tests.tic_tac_toe.registration import REGISTRATION

__all__ = ["REGISTRATION", "TicTacToe"]
