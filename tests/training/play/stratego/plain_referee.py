"""A referee in plain Python, written from the rules alone, for games by the usual rules on the usual board."""

from training.play.stratego import protocol
from training.play.stratego.protocol import Outcome

STRENGTH = {rank: number for number, rank in enumerate("Fs987654321")}


class PlainReferee:
    def __init__(self, setups):
        lakes = ["..++..++.."] * 2
        self.board = list("".join([*setups[0], *lakes, *setups[1]]))
        self.owners = [0 if cell < 50 else 1 for cell in range(100)]
        self.player = 0

    def view(self, player):
        return protocol.view(self.board, self.owners, player)

    def why_illegal(self, move):
        return protocol.why_illegal(self.view(self.player), move)

    def play(self, move):
        (u, v), start = move.target, 10 * move.y + move.x
        end = 10 * v + u
        attacker, defender = self.board[start], self.board[end]
        self.board[start] = "."
        if defender == ".":
            outcome = "OK"
        elif defender == "B":
            outcome = "KILLS" if attacker == "8" else "DIES"
        elif defender == "F":
            outcome = "VICTORY_FLAG"
        elif (attacker, defender) == ("s", "1") or STRENGTH[attacker] > STRENGTH[defender]:
            outcome = "KILLS"
        else:
            outcome = "BOTHDIE" if attacker == defender else "DIES"
        if outcome in ("OK", "KILLS", "VICTORY_FLAG"):
            self.board[end], self.owners[end] = attacker, self.player
        elif outcome == "BOTHDIE":
            self.board[end] = "."
        self.player = 1 - self.player
        return Outcome(outcome, attacker, defender) if outcome in protocol.BATTLES else Outcome(outcome)

    def ranks(self, player):
        return "".join(rank for rank, owner in zip(self.board, self.owners, strict=True) if owner == player and rank not in ".+")
