"""Elo ratings: updates game by game as in the paper, and a fit by maximum likelihood for tables.

(Source: Bluml et al., section 4: R' = R + K (S - E), E = 1 / (1 + 10 ** ((Rb - Ra) / 400)), K = 1; the fit is the model of
Bradley and Terry with draws as half a win each.)
"""

from __future__ import annotations

import math

import numpy as np

SCALE = 400 / math.log(10)
PAPER_K = 1.0
_MOST_ROUNDS = 10_000


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
      ValueError: the scores do not belong to the games, or somebody has no link to the anchor by games played.
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
    reached = latest = np.arange(number) == anchor
    while latest.any():
        latest = met[latest].any(0) & ~reached
        reached = reached | latest
    if not reached.all():
        raise ValueError(f"player {int(np.flatnonzero(~reached)[0])} has no link to player {anchor} by games played")
    weight = np.where(met, games + prior, 0.0)
    points = np.where(met, scores + prior / 2, 0.0).sum(1)
    strength = np.ones(number)
    for _ in range(_MOST_ROUNDS):  # Hunter's minorization: each round raises the likelihood
        before = strength
        strength = points / (weight / (strength[:, None] + strength[None])).sum(1)
        strength = strength / np.exp(np.log(np.maximum(strength, 1e-300)).mean())
        if np.abs(np.log(strength / before)).max() < 1e-10:
            break
    ratings = SCALE * np.log(strength)
    return ratings - ratings[anchor]


def standard_errors(scores: np.ndarray, games: np.ndarray, *, anchor: int = 0, prior: float = 0.5) -> np.ndarray:
    """Gives the standard errors of `fit`'s ratings, by the curvature of the likelihood; that of the anchor is 0."""
    ratings = fit(scores, games, anchor=anchor, prior=prior)
    games = np.where(np.eye(len(ratings), dtype=bool), 0.0, np.asarray(games, float))
    expected = 1 / (1 + 10 ** ((ratings[None] - ratings[:, None]) / 400))
    information = -(games + prior * (games > 0)) * expected * (1 - expected) / SCALE**2
    np.fill_diagonal(information, -information.sum(1))
    kept = np.arange(len(ratings)) != anchor
    errors = np.zeros(len(ratings))
    errors[kept] = np.sqrt(np.diag(np.linalg.inv(information[np.ix_(kept, kept)])))
    return errors
