"""The bandits against section 1.2 of our notes on the released code: counting, choosing, the final choice and its ties."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from search.bandit import bandits
from search.bandit.choices import add_credit

TS, UCB, UNIFORM = bandits.thompson(), bandits.ucb1(), bandits.uniform()
ALL = pytest.mark.parametrize("bandit", [TS, UCB, UNIFORM], ids=lambda bandit: bandit.name)
DRAWS, ARMS = 6000, 6


@functools.cache
def credit_of(bandit, value):
    return int(jax.jit(bandit.credit)(jnp.float32(value), jnp.float32(0.5)))


def words_of(bandit, *results_of_arms):
    """The words of arms with these results."""
    return np.array([sum(credit_of(bandit, value) for value in results) for results in results_of_arms], np.uint32)


def played(bandit, results):
    return words_of(bandit, results)[0]


@functools.partial(jax.jit, static_argnums=0)
def _told(bandit, word):
    return bandit.visits(word), bandit.values(word), bandit.merit(word), bandit.is_full(word)


def told(bandit, word):
    """Visits, value, merit, and whether it is full: of one word."""
    return tuple(part.item() for part in _told(bandit, np.uint32(word)))


def lanes_of(count, seed):
    return jax.vmap(random_bits.lane_key)(jax.random.split(jax.random.key(seed), count))


@functools.partial(jax.jit, static_argnums=(0, 2))
def scores_of(bandit, words, num_arms):
    """Scores [N, P * K] of words [N, P * K], each row with a key of its own."""
    lanes = lanes_of(words.shape[0], 0)
    return bandit.scores(lanes.column(), words, num_arms)


@jax.jit
def choose(scores, legal):
    return bandits.choose(scores, legal)


def choices(bandit, words, legal=None):
    """The arm that each of many lanes chooses, int [DRAWS]; one player."""
    words, legal = padded(words, np.ones(len(words), bool) if legal is None else legal)
    return np.asarray(choose(scores_of(bandit, np.tile(words, (DRAWS, 1)), ARMS), legal))


def padded(words, legal):
    """The same and illegal arms that were never tried: as many arms in most tests, so that little is compiled."""
    more = ARMS - len(words)
    return np.pad(words, (0, more)), np.pad(legal, (0, more))


def finals(bandit, words, legal):
    """The arm that the final choice takes in each of many lanes, int [DRAWS], and the policy [K]; one player."""
    chosen, policy = jax.device_get(_finals(bandit, *padded(words, legal)))
    assert not policy[len(words) :].any()
    return chosen, policy[: len(words)]


@functools.partial(jax.jit, static_argnums=0)
def _finals(bandit, words, legal):
    policy = bandits.final_policy(bandit, words, legal)
    return bandits.final_choice(lanes_of(DRAWS, 1), jnp.tile(policy, (DRAWS, 1, 1)))[:, 0], policy


def assert_frequencies(chosen, probabilities):
    """Chi-square at 1e-4; what has no probability never comes."""
    counts = np.bincount(chosen, minlength=len(probabilities))
    possible = np.asarray(probabilities) > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        assert stats.chisquare(counts[possible], len(chosen) * np.asarray(probabilities)[possible]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("results", "wins", "losses"),
    [
        ([], 0, 0),
        ([1.0], 1, 0),
        ([0.25], 1, 0),  # only the sign counts
        ([-1.0], 0, 1),
        ([-1e-3], 0, 1),
        ([0.0], 0.5, 0.5),
        ([-0.0], 0.5, 0.5),
        ([1.0, 0.5, 0.0, 0.0, 0.0, -1.0], 3.5, 2.5),
    ],
)
def test_thompson_counts_signs(results, wins, losses):
    visits, value, merit, _ = told(TS, played(TS, results))
    assert visits == len(results)
    assert value == merit == pytest.approx((1 + wins) / (2 + wins + losses))


def test_thompson_draws_from_its_posterior():
    results = [[1] * 3 + [0], [-1] * 5 + [1], [], [0] * 9, [1], [-1]]
    scores = np.asarray(scores_of(TS, np.tile(words_of(TS, *results), (DRAWS, 1)), ARMS))
    for column, (wins, losses) in zip(scores.T, [(3.5, 0.5), (1, 5), (0, 0), (4.5, 4.5), (1, 0), (0, 1)], strict=True):
        assert stats.kstest(column, stats.beta(1 + wins, 1 + losses).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(scores.T) - np.eye(ARMS)).max() < 5 / np.sqrt(DRAWS)


def test_uniform_choice_ignores_results():
    assert_frequencies(choices(UNIFORM, words_of(UNIFORM, [1] * 50, [-1] * 50, [])), [1 / 3] * 3)
    assert told(UNIFORM, played(UNIFORM, [1, 0, -1, -1]))[1] == pytest.approx(2.5 / 6)


@pytest.mark.parametrize("c", [pytest.param(0.0, marks=pytest.mark.slow), 0.5, None])
def test_ucb_formula(c):
    """The arm chosen has the highest mean + c sqrt(ln(total) / n), for random statistics of two players at once.

    The published c, which is the default, is 2.
    """
    bandit, c = (UCB, 2.0) if c is None else (bandits.ucb1(c), c)
    source, legal = np.random.default_rng(int(10 * c)), np.ones((2, ARMS), bool)
    visits = source.integers(1, 40, (DRAWS, 2, ARMS))
    sums = np.round(8 * source.uniform(-1, 1, visits.shape) * visits) / 8
    words = (np.round(8 * (sums + visits)).astype(np.uint32) << 14) | visits.astype(np.uint32)
    scores = np.asarray(scores_of(bandit, words.reshape(DRAWS, 2 * ARMS), ARMS))
    chosen = choose(scores.reshape(visits.shape), legal)
    exact = sums / visits + c * np.sqrt(np.log(visits.sum(-1, keepdims=True)) / visits)
    top_two = np.sort(exact, axis=-1)[..., -2:]
    clear = top_two[..., 1] - top_two[..., 0] > 2e-5
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(np.asarray(chosen)[clear], exact.argmax(-1)[clear])


def test_ucb_counts():
    assert told(UCB, played(UCB, [1.0, -1.0, -1.0, 0.0, 0.25])) == (5, pytest.approx(-0.75 / 5), 5, False)
    assert told(UCB, 0) == (0, 0, 0, False)


def test_ucb_tries_every_arm_first():
    assert_frequencies(choices(UCB, words_of(UCB, [1] * 9, [], [-1], [])), [0, 0.5, 0, 0.5])


@pytest.mark.parametrize("visits", [1, 3, 40])
def test_ucb_breaks_ties_uniformly(visits):
    """Also where the bonus is large and a float32 has few digits after the point."""
    best, worse = [0.0] * visits, [-1.0] * visits
    words = words_of(UCB, best, best, worse, best, best, worse)
    assert_frequencies(choices(UCB, words), [0.25, 0.25, 0, 0.25, 0.25, 0])


def test_ucb_scores_that_are_almost_equal_tie():
    words = words_of(UCB, [-0.625] * 3 + [-0.75] * 2, [-0.375] * 8)
    one, other = (told(UCB, word)[1] + 2 * np.sqrt(np.log(5 + 8) / count) for word, count in zip(words, (5, 8), strict=True))
    assert one - other == pytest.approx(2e-6, abs=1e-6)
    assert_frequencies(choices(UCB, words), [0.5, 0.5])


@ALL
def test_without_results_the_choice_is_uniform(bandit):
    scores = np.asarray(scores_of(bandit, np.zeros((DRAWS, 12), np.uint32), 6))
    legal = np.array([[True] * 6, [True, False, True, True, False, True]])
    chosen = np.asarray(choose(scores.reshape(DRAWS, 2, 6), legal))
    assert_frequencies(chosen[:, 0], [1 / 6] * 6)
    assert_frequencies(chosen[:, 1], [0.25, 0, 0.25, 0.25, 0, 0.25])
    both = np.zeros((6, 6))
    np.add.at(both, (chosen[:, 0], chosen[:, 1]), 1)
    assert stats.chi2_contingency(both[:, [0, 2, 3, 5]]).pvalue > 1e-4


@ALL
def test_no_illegal_arm_is_ever_chosen(bandit):
    source = np.random.default_rng(0)
    words = np.zeros((DRAWS, ARMS), np.uint32)
    legal = source.random((DRAWS, ARMS)) < 0.5
    legal[np.arange(DRAWS), source.integers(0, ARMS, DRAWS)] = True
    for _ in range(12):  # some results for some legal arms
        arms = np.argmax(np.where(legal, source.random((DRAWS, ARMS)), -1), axis=1)
        words[np.arange(DRAWS), arms] += np.array([credit_of(bandit, value) for value in (-1, 0, 1)], np.uint32)[
            source.integers(0, 3, DRAWS)
        ]
    scores = scores_of(bandit, words, ARMS)
    assert np.isfinite(np.asarray(scores)).all()
    chosen = np.asarray(choose(scores, legal))
    assert legal[np.arange(DRAWS), chosen].all()
    policy = np.asarray(jax.jit(functools.partial(bandits.final_policy, bandit))(words, legal))
    assert (policy[~legal] == 0).all()
    np.testing.assert_allclose(policy.sum(-1), 1, rtol=1e-6)


@ALL
def test_a_single_legal_arm(bandit):
    words, legal = words_of(bandit, [], [-1] * 20, []), np.array([False, True, False])
    assert (choices(bandit, words, legal) == 1).all()
    chosen, _ = finals(bandit, words, legal)
    assert (chosen == 1).all()


@pytest.mark.parametrize("bandit", [TS, UNIFORM], ids=lambda bandit: bandit.name)
def test_final_choice_by_posterior_mean(bandit):
    # An arm never tried ties with one that only saw undecided ends, whatever their number; the illegal one is out.
    words = words_of(bandit, [0] * 7, [], [-1, 0], [0] * 30, [1, -1], [1, 1, 1])
    chosen, policy = finals(bandit, words, np.arange(6) < 5)
    np.testing.assert_allclose(policy, [0.25, 0.25, 0, 0.25, 0.25, 0])
    assert_frequencies(chosen, policy)
    chosen, _ = finals(bandit, words, np.ones(6, bool))
    assert (chosen == 5).all()


def test_posterior_means_that_are_equal_tie():
    words = words_of(TS, [1, 1, -1], [1] * 5 + [-1] * 3, [1, 1, 1, -1])  # 3/5, 6/10 and 4/6
    np.testing.assert_array_equal(finals(TS, words, np.arange(3) < 2)[1], [0.5, 0.5, 0])
    np.testing.assert_array_equal(finals(TS, words, np.ones(3, bool))[1], [0, 0, 1])


def test_final_choice_of_ucb_is_most_visits():
    chosen, policy = finals(UCB, words_of(UCB, [1] * 3, [-1] * 4, [0] * 4, []), np.ones(4, bool))
    np.testing.assert_array_equal(policy, [0, 0.5, 0.5, 0])
    assert_frequencies(chosen, policy)
    chosen, policy = finals(UCB, words_of(UCB, [], [], [1], []), np.arange(4) < 2)
    assert_frequencies(chosen, [0.5, 0.5, 0, 0])


@functools.partial(jax.jit, static_argnums=0)
def add_many(bandit, words, credit):
    first = jnp.zeros((1, 1), jnp.int32)
    return jax.lax.fori_loop(0, 400, lambda _, words: add_credit(bandit, words, first, credit), words)


@ALL
@pytest.mark.parametrize("value", [1.0, 0.0, -1.0])
def test_counts_never_overflow(bandit, value):
    """Even if the largest credit comes at once: all steps of a long simulation in one state. The other arm keeps its mean."""
    credit = np.full((1, 1), bandits.MAX_CREDITS * credit_of(bandit, value), np.uint32)
    words = np.asarray(add_many(bandit, np.array([[0, 5000 * credit_of(bandit, value)]], np.uint32), credit))[0]
    (many, _, _, full), (few, *_) = (told(bandit, word) for word in words)
    assert not full and many > 7_000 and 1 <= few < 200
    for word, visits in zip(words, (many, few), strict=True):
        expected = value if bandit is UCB else (1 + visits * (1 + value) / 2) / (2 + visits)
        assert told(bandit, word)[1] == pytest.approx(expected, abs=1e-2 if visits == few else 1e-4)


def test_halves_of_ucb_have_the_same_mean():
    """Half as many visits, one at least where there were any, and no mean that cannot be."""
    visits, halved = np.arange(1, 600, dtype=np.uint32), jax.jit(UCB.halved)
    for summed in (0 * visits, visits, 8 * visits, 9 * visits + visits // 3, 16 * visits - 1, 16 * visits):
        count, mean, *_ = _told(UCB, halved((summed << 14) | visits))
        np.testing.assert_array_equal(count, (visits + 1) // 2)
        assert (np.abs(mean) <= 1).all()
        np.testing.assert_array_less(np.abs(mean - (summed / (8 * visits) - 1)), 0.25 / visits + 1e-6)
    assert int(halved(np.uint32(0))) == 0


def test_what_ucb_meets_counts_also_when_a_word_was_full():
    """Two arms have been tried as often as is counted; only from then on one is better."""
    full = [np.uint32((1 << 14) - 513) * credit_of(UCB, 0.0)] * 2

    def play(number, words):
        lane = random_bits.fold(random_bits.lane_key(jax.random.key(0)), number)
        choice = bandits.choose(UCB.scores(lane, words[0], 2), np.ones(2, bool))
        better = jnp.where(choice == 1, np.uint32(credit_of(UCB, 1.0)), np.uint32(credit_of(UCB, 0.0)))
        return add_credit(UCB, words, choice[None, None], better[None, None])

    words = np.asarray(jax.jit(lambda words: jax.lax.fori_loop(0, 20_000, play, words))(np.array([full])))[0]
    assert told(UCB, words[1])[0] > 2 * told(UCB, words[0])[0]
    assert told(UCB, words[1])[1] > 0.5 and told(UCB, words[0])[1] == 0


@functools.cache
def some_noise():
    return np.asarray(jax.jit(lambda: bandits.rounding_noise(lanes_of(40_000, 5), 2))())


@pytest.mark.parametrize("value", [0.06, -0.06, 0.03, 1 / 3, -0.99])
def test_ucb_sees_small_values(value):
    """No single word holds them, the mean of many does."""
    noise = some_noise()
    words = jax.jit(UCB.credit)(np.full_like(noise, value), noise)
    mean = np.asarray(_told(UCB, words)[1]).mean()
    assert mean == pytest.approx(value, abs=4 * 0.0625 / np.sqrt(noise.size))


@ALL
def test_what_needs_no_rounding_is_never_rounded(bandit):
    """Also with the highest noises, which added to a number are 1."""
    values = np.arange(-8, 9) / 8 if bandit is UCB else np.array([-1, 0, 1])
    noises = np.array([0, 2**-24, 0.5, 1 - 2**-24], np.float32)[:, None]
    for credit in (bandit.credit, bandit.soft_credit):
        words = np.asarray(jax.jit(credit)(*np.broadcast_arrays(values.astype(np.float32), noises)))
        assert (words == [credit_of(bandit, value) for value in values]).all()


def test_names():
    assert bandits.by_name("ts").name == "TS" and bandits.by_name("ucb").name == "UCB"
    with pytest.raises(ValueError, match="bandit='exp3': must be one of ts, ucb, uniform"):
        bandits.by_name("exp3")
    with pytest.raises(ValueError, match="c=-1: must be >= 0"):
        bandits.ucb1(-1)
    with pytest.raises(ValueError, match=r"c=1.0: is of bandit='ucb', not of 'ts'"):
        bandits.by_name("ts", 1.0)


def test_the_weight_of_exploration_may_be_chosen():
    words, lane = words_of(UCB, [1.0] * 9, [-1.0]), jax.jit(random_bits.lane_key)(jax.random.key(0))
    told = [jax.jit(bandits.by_name("ucb", c).scores, static_argnums=2)(lane, words, 2) for c in (0.0, 1.0, 4.0)]
    chosen = [int(np.argmax(scores)) for scores in told]
    # Mean 1 of nine tries against mean -1 of one: sqrt(ln 10) (1 - 1/3) c = 1.01 c makes up for the 2 from c = 2 on.
    assert chosen == [0, 0, 1]


@ALL
def test_words_of_groups_hold_what_their_arms_have_met(bandit):
    """Where that is more than a word holds, all groups of a player are scaled down alike, and keep their means."""
    among = np.array([[True, True, False], [False, False, True]])
    summed = jax.jit(bandit.summed)
    few = words_of(bandit, [1.0, 0.0], [-1.0], [1.0, 1.0, -1.0])
    expected = words_of(bandit, [1.0, 0.0, -1.0], [1.0, 1.0, -1.0])
    np.testing.assert_array_equal(summed(few[None, None], among), expected[None])
    many = np.array([9000, 9000, 3000], np.uint32) * words_of(bandit, [1.0], [-1.0], [1.0])
    both, one = (_told(bandit, word) for word in summed(many[None, None], among)[0])
    assert both[0] / one[0] == pytest.approx(6, rel=1e-3), "so many more visits"
    middle = sum(bandit.value_range) / 2
    assert both[1] == pytest.approx(middle, abs=1e-3) and one[1] == pytest.approx(bandit.value_range[1], abs=1e-3)
