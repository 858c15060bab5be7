"""Elo ratings: the paper's updates, and a fit that must find what made the scores."""

import numpy as np
import pytest

from training.play import elo

RATINGS = np.array([0.0, 120.0, -75.0, 310.0])


def expected(ratings):
    return 1 / (1 + 10 ** ((ratings[None] - ratings[:, None]) / 400))


def table(ratings, games):
    """Exact expected scores of so many games between each pair."""
    games = np.asarray(games, float)
    return expected(ratings) * games, games


def everybody(number, games):
    return games * (1 - np.eye(number))


@pytest.mark.parametrize(("difference", "score"), [(0, 0.5), (400, 10 / 11), (-400, 1 / 11), (200, 0.7597469)])
def test_expected_scores(difference, score):
    assert elo.expected_score(1000 + difference, 1000) == pytest.approx(score)


@pytest.mark.parametrize(("score", "gain"), [(1, 10 / 11), (0.5, 0.5 - 1 / 11), (0, -1 / 11)])
def test_updates_of_the_paper(score, gain):
    one, other = elo.updated(100, 500, score)
    assert (one - 100, 500 - other) == pytest.approx((gain, gain))
    assert elo.updated(100, 500, score, k=20)[0] - 100 == pytest.approx(20 * gain)


@pytest.mark.parametrize("anchor", [0, 2])
def test_the_fit_finds_the_ratings_that_made_the_scores(anchor):
    games = everybody(4, 50)
    games[0, 3] = games[3, 0] = 0  # these two never met
    games[1, 2] = games[2, 1] = 400
    found = elo.fit(*table(RATINGS, games), anchor=anchor, prior=0)
    np.testing.assert_allclose(found, RATINGS - RATINGS[anchor], atol=1e-4)
    assert found[anchor] == 0


def test_the_fit_has_the_highest_likelihood():
    """With the draw that each pair is given beside its games."""
    random = np.random.default_rng(0)
    games = everybody(4, 20)
    wins = np.triu(random.binomial(20, expected(RATINGS)), 1)
    scores = wins + np.tril(games - wins.T, -1)
    found = elo.fit(scores, games)
    best = likelihood(found, scores, games, 0.5)
    for index in range(1, 4):
        for step in (-0.5, 0.5):
            moved = found + step * np.eye(4)[index]
            assert likelihood(moved, scores, games, 0.5) < best


def likelihood(ratings, scores, games, prior):
    """Each game counts once: the scores of the row's player."""
    weight = np.where(games > 0, scores + prior / 2, 0)
    return (weight * np.log(expected(ratings))).sum()


def test_standard_errors_are_those_of_the_curvature():
    scores, games = table(RATINGS, everybody(4, 30))
    found = elo.fit(scores, games)
    step = 1.0

    def at(change):
        return likelihood(found + change, scores, games, 0.5)

    units = step * np.eye(4)[1:]
    curvature = [[(at(a + b) - at(a - b) - at(b - a) + at(-a - b)) / (4 * step**2) for b in units] for a in units]
    errors = np.sqrt(np.diag(np.linalg.inv(-np.array(curvature))))
    np.testing.assert_allclose(elo.standard_errors(scores, games), [0, *errors], rtol=1e-3)
    assert elo.standard_errors(scores, games, anchor=2)[2] == 0
    more = elo.standard_errors(*table(RATINGS, everybody(4, 3000)))
    np.testing.assert_allclose(errors / more[1:], 10, rtol=0.2)


@pytest.mark.parametrize("met", ["everybody", "neighbours"])
@pytest.mark.parametrize(("number", "games_of_a_pair"), [(3, 10_000), (8, 1000), (20, 10**6)])
def test_the_fit_settles_where_the_better_one_always_wins(number, games_of_a_pair, met):
    """At the maximum everybody has made the points that its rating expects."""
    games = everybody(number, games_of_a_pair)
    if met == "neighbours":
        games = games * (np.abs(np.subtract.outer(range(number), range(number))) == 1)
    found = elo.fit(np.tril(games), games)
    weight = games + 0.5 * (games > 0)
    np.testing.assert_allclose((weight * expected(found)).sum(1), (np.tril(games) + 0.25 * (games > 0)).sum(1), rtol=1e-9)
    assert (np.diff(found) > 500).all()


def test_without_a_prior_who_won_all_games_has_no_rating():
    told = r"^prior=0: somebody won or lost all games against the others, and has no rating without a prior above 0$"
    strong, weak = np.ones((4, 4)), np.ones((4, 4))
    strong[:2, 2:], strong[2:, :2] = 2, 0  # two that always beat the other two
    for scores in (np.array([[0.0, 0.0], [2.0, 0.0]]), strong * everybody(4, 1)):
        with pytest.raises(ValueError, match=told):
            elo.fit(scores, everybody(len(scores), 2), prior=0)
    np.testing.assert_allclose(elo.fit(weak * everybody(4, 1), everybody(4, 2), prior=0), 0, atol=1e-6)


def test_who_won_all_games_gets_a_finite_rating():
    scores = np.array([[0.0, 0.0], [10.0, 0.0]])
    found = elo.fit(scores, everybody(2, 10))
    assert found[1] == pytest.approx(elo.SCALE * np.log(10.25 / 0.25))


@pytest.mark.parametrize(
    ("scores", "games", "settings", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3)), {}, r"scores \(2, 3\) and games \(2, 3\): must be square and alike"),
        (np.ones((2, 2)), everybody(2, 3), {}, "scores: those of each pair must sum to its games"),
        ([[0, -1], [4, 0]], everybody(2, 3), {}, "scores: those of each pair must sum to its games"),
        ([[0, 1], [2, 0]], [[0, 3], [4, 0]], {}, "scores: those of each pair must sum to its games"),
        ([[0, 1], [2, 0]], everybody(2, 3), {"anchor": 2}, r"anchor=2: must be in 0\.\.1"),
    ],
)
def test_tables_that_are_none(scores, games, settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        elo.fit(scores, games, **settings)


@pytest.mark.filterwarnings("error")
def test_many_players_are_linked():
    games = everybody(400, 2)
    np.testing.assert_allclose(elo.fit(games / 2, games), 0, atol=1e-6)
    chain = np.eye(300, k=1) + np.eye(300, k=-1)
    np.testing.assert_allclose(elo.fit(chain / 2, chain, anchor=150), 0, atol=1e-6)


def test_ratings_of_players_without_a_link_are_refused():
    games = np.zeros((4, 4))
    games[0, 1] = games[1, 0] = games[2, 3] = games[3, 2] = 2
    with pytest.raises(ValueError, match=r"^player 2 has no link to player 0 by games played$"):
        elo.fit(games / 2, games)
    games[1, 3] = games[3, 1] = 2  # a link through others is one
    assert np.isfinite(elo.fit(games / 2, games)).all()
