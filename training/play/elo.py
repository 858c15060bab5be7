"""Elo ratings: updates game by game as in the paper, and a fit by maximum likelihood for tables.

(Source: Bluml et al., section 4: R' = R + K (S - E), E = 1 / (1 + 10 ** ((Rb - Ra) / 400)), K = 1; the fit is the model of
Bradley and Terry with draws as half a win each.)
"""

from __future__ import annotations

import math

import numpy as np

SCALE = 400 / math.log(10)
PAPER_K = 1.0
_MOST_ROUNDS = 200
_SETTLED = 1e-7  # in natural units: 2e-5 Elo, and more than rounding makes of millions of games
_FARTHEST = 2.0  # how much a round may change the difference of two players who met, in natural units


def expected_score(rating: float, other: float) -> float:
    """Gives the expected score (1 win, 0.5 draw, 0 loss) against another rating."""
    return 1 / (1 + 10 ** ((other - rating) / 400))


def updated(rating: float, other: float, score: float, k: float = PAPER_K) -> tuple[float, float]:
    """Gives both ratings after one game, `score` being that of the first."""
    change = k * (score - expected_score(rating, other))
    return rating + change, other - change


def fit(scores: np.ndarray, games: np.ndarray, *, anchor: int = 0, prior: float = 0.5) -> np.ndarray:
    """Fits ratings to all games at once.

    Args:
      scores: float [N, N], points that the row's player made against the column's; draws are half a point each.
      games: int [N, N], games between them, symmetric.
      anchor: whose rating is 0.
      prior: games in which each pair that met is taken to have drawn beside those played: it keeps the ratings of players who
        won or lost all their games finite; 0: none.

    Returns:
      float64 [N].

    Raises:
      ValueError: the scores do not belong to the games, somebody has no link to the anchor by games played, or without a prior
        somebody (or some of them together) won or lost all games against the others.
    """
    scores, games = np.asarray(scores, float), np.asarray(games, float)
    number = len(games)
    if scores.shape != (number, number) or games.shape != (number, number):
        raise ValueError(f"scores {scores.shape} and games {games.shape}: must be square and alike")
    off = ~np.eye(number, dtype=bool)
    if (games != games.T).any() or not np.allclose((scores + scores.T)[off], games[off]) or (scores < 0).any():
        raise ValueError("scores: those of each pair must sum to its games")
    if not 0 <= anchor < number:
        raise ValueError(f"anchor={anchor}: must be in 0..{number - 1}")
    met = (games > 0) & off
    reached = _reached(met, anchor)
    if not reached.all():
        raise ValueError(f"player {int(np.flatnonzero(~reached)[0])} has no link to player {anchor} by games played")
    if prior == 0 and not (_reached(scores > 0, anchor) & _reached(scores.T > 0, anchor)).all():
        raise ValueError("prior=0: somebody won or lost all games against the others, and has no rating without a prior above 0")
    kept = np.arange(number) != anchor
    weight = np.where(met, games + prior, 0.0)
    points = np.where(met, scores + prior / 2, 0.0).sum(1)
    natural = np.zeros(number)  # ratings / SCALE
    for _ in range(_MOST_ROUNDS):  # Newton's method; the likelihood has one maximum
        expected, step = _expected(natural), np.zeros(number)
        lacking = points - (weight * expected).sum(1)
        step[kept] = np.linalg.solve(_information(weight, expected)[np.ix_(kept, kept)], lacking[kept])
        farthest = np.abs(np.where(met, step[:, None] - step[None], 0.0)).max(initial=0.0)
        natural += step * min(1.0, _FARTHEST / max(farthest, _FARTHEST))
        if farthest < _SETTLED:
            break
    return SCALE * natural


def _reached(links: np.ndarray, start: int) -> np.ndarray:
    """Says who is reached from a player over links, bool [N, N], in any number of steps: bool [N]."""
    reached = latest = np.arange(len(links)) == start
    while latest.any():
        latest = links[latest].any(0) & ~reached
        reached = reached | latest
    return reached


def _expected(natural: np.ndarray) -> np.ndarray:
    """Gives what the row's player is expected to score against the column's, by natural ratings: float64 [N, N]."""
    return 1 / (1 + np.exp(natural[None] - natural[:, None]))


def _information(weight: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Gives the curvature of the likelihood by natural ratings, with its sign turned: float64 [N, N]."""
    between = weight * expected * (1 - expected)
    return np.diag(between.sum(1)) - between


def standard_errors(scores: np.ndarray, games: np.ndarray, *, anchor: int = 0, prior: float = 0.5) -> np.ndarray:
    """Gives the standard errors of `fit`'s ratings, by the curvature of the likelihood; that of the anchor is 0."""
    ratings = fit(scores, games, anchor=anchor, prior=prior)
    games = np.where(np.eye(len(ratings), dtype=bool), 0.0, np.asarray(games, float))
    information = _information(games + prior * (games > 0), _expected(ratings / SCALE))
    kept = np.arange(len(ratings)) != anchor
    errors = np.zeros(len(ratings))
    errors[kept] = SCALE * np.sqrt(np.diag(np.linalg.inv(information[np.ix_(kept, kept)])))
    return errors
