"""One position made by hand per clause of the rules."""

import dataclasses
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.hero_academy import HeroAcademyConfig, combat, draws, interop, make, units
from jaxgames.hero_academy.config import BOARDS
from tests.jaxgames.hero_academy.positions import (
    GAME,
    LAYOUT,
    STEP,
    act,
    after,
    board,
    cell,
    hit_points,
    kind,
    legal,
    play,
    position,
)


def test_moves_jump_over_anything_but_not_onto_the_others_deploy_squares():
    state = position({(6, 0): "K", (7, 0): "k"})
    assert act((6, 0), (8, 0)) not in legal(state)
    assert act((6, 0), (7, 1)) in legal(state)
    state = position({(2, 2): "K", (3, 2): "k"})
    assert act((2, 2), (4, 2)) in legal(state)
    moved = after(state, act((2, 2), (4, 2)))
    assert (kind(moved, 2, 2), kind(moved, 4, 2), int(moved.action_points)) == (units.EMPTY, units.KNIGHT, 4)


def test_a_ninja_goes_three_cells_and_changes_places_with_anybody_of_its_own():
    state = position({(1, 1): "N", (6, 4): ("W", 300, 2)})
    assert act((1, 1), (4, 1)) in legal(state)
    swapped = after(state, LAYOUT.trade_with(cell(6, 4)))
    assert (kind(swapped, 1, 1), kind(swapped, 6, 4), hit_points(swapped, 1, 1)) == (units.WIZARD, units.NINJA, 300)
    assert board(swapped)["unit_equip"][1, 1] == 2 and int(swapped.action_points) == int(state.action_points) - 1


@pytest.mark.parametrize(
    ("attacker", "at", "target", "expected"),
    [
        ("A", (5, 2), "w", 300),
        ("A", (3, 2), "w", 150),  # next to it, half
        ("K", (3, 2), "w", 200),
        ("N", (3, 2), "w", 400),  # next to it, twice
        ("N", (4, 2), "w", 200),
        ("W", (4, 2), "k", 200),  # magic goes through armour
        ("A", (5, 2), "k", 240),
        ("A", (5, 2), ("w", None, 1), 240),
        ("W", (4, 2), ("w", None, 4), 140),
        (("A", None, 2), (5, 2), "w", 450),
        (("A", None, 10), (5, 2), "w", 800),  # runemetal and scroll: more than it has
    ],
)
def test_damage(attacker, at, target, expected):
    start = (2, 3)
    end = (at[0], 3)
    state = position({start: attacker, end: target})
    full = hit_points(state, *end)
    hit = after(state, act(start, end))
    arrays = board(hit)
    (where,) = np.argwhere((arrays["unit_owner"] == 2) & (arrays["unit_class"] != units.CRYSTAL))
    assert full - arrays["unit_hp"][*where] == expected
    assert arrays["unit_equip"][start[1], start[0]] & 8 == 0  # the scroll is used up


def test_squares_of_power_defense_and_assault():
    state = position({(2, 2): "A", (5, 2): "w"})
    assert hit_points(after(state, act((2, 2), (5, 2))), 5, 2) == 800 - 400
    state = position({(2, 0): "A", (4, 0): "w"})
    assert hit_points(after(state, act((2, 0), (4, 0))), 4, 0) == 800 - 240
    state = position({(4, 4): "K", (6, 2): "W"})
    assert hit_points(after(state, act((6, 2), (8, 2))), 8, 2) == 4500 - 300 - 300


@pytest.mark.parametrize("held, bonus", [((), 0), ((1,), 300), ((1, 2), 600), ((0, 3), 0)])
def test_each_assault_square_that_is_held_adds_to_the_damage_of_crystals(held, bonus):
    config = HeroAcademyConfig(board=("dAAD", "c..C"))
    sides = types.SimpleNamespace(own_units=config.grid.constant(held))
    assert int(combat.assault_bonus(config, sides)) == bonus


def test_living_enemies_and_their_crystals_block_the_line_of_sight_and_nobody_else():
    for blocker, blocked in (("k", True), ("x", True), ("K", False), ("X", False), (("k", 0, 0), False)):
        state = position({(2, 3): "A", (4, 3): blocker, (5, 3): "w"})
        assert (act((2, 3), (5, 3)) not in legal(state)) == blocked


def test_a_knight_pushes_unless_something_stands_behind():
    pushed = after(position({(2, 3): "K", (3, 3): "w"}), act((2, 3), (3, 3)))
    assert (kind(pushed, 3, 3), kind(pushed, 4, 3), hit_points(pushed, 4, 3)) == (units.EMPTY, units.WIZARD, 600)
    held = after(position({(2, 3): "K", (3, 3): "w", (4, 3): "k"}), act((2, 3), (3, 3)))
    assert kind(held, 3, 3) == units.WIZARD
    over = after(position({(2, 3): "K", (3, 3): "w", (4, 3): ("A", 0, 0)}), act((2, 3), (3, 3)))
    assert (kind(over, 4, 3), board(over)["unit_owner"][3, 4]) == (units.WIZARD, 2)


@pytest.mark.parametrize(("player", "edge", "pushes"), [(0, 8, True), (0, 0, False), (1, 0, True), (1, 8, False)])
def test_a_knight_pushes_others_onto_their_own_deploy_square_but_not_onto_its_own(player, edge, pushes):
    knight, wizard = ("K", "w") if player == 0 else ("k", "W")
    start, beside = (6, 7) if edge == 8 else (2, 1)
    state = position({(start, 0): knight, (beside, 0): wizard}, player=player)
    hit = after(state, act((start, 0), (beside, 0)))
    empty, stands = (beside, edge) if pushes else (edge, beside)
    assert (kind(hit, empty, 0), hit_points(hit, stands, 0)) == (units.EMPTY, 600)


def test_lightning_goes_on_straight_then_to_the_best_neighbour():
    state = position({(2, 3): "W", (4, 3): "k", (5, 3): "k", (5, 4): "k", (4, 4): "k"})
    hit = after(state, act((2, 3), (4, 3)))
    assert [hit_points(hit, *at) for at in ((4, 3), (5, 3), (5, 4), (4, 4))] == [800, 850, 888, 1000]


def test_of_neighbours_as_good_lightning_goes_to_the_left_one_and_not_down():
    hit = after(position({(2, 3): "W", (3, 2): "k", (2, 2): "k", (3, 3): "k"}), act((2, 3), (3, 2)))
    assert [hit_points(hit, *at) for at in ((3, 2), (2, 2), (3, 3))] == [800, 850, 888]


def test_lightning_goes_on_from_a_crystal_that_has_just_fallen():
    first = {(2, 3): "W", (4, 3): ("x", 100, 0), (5, 3): "k"}
    for things, last in ((first, False), ({(0, 2): "X", **first}, True)):
        hit = after(position(things, crystals=not last), act((2, 3), (4, 3)))
        assert (kind(hit, 4, 3), hit_points(hit, 5, 3)) == (units.EMPTY, 850)
        assert (bool(hit.terminated), int(hit.winner), int(hit.action_points)) == (last, 0 if last else -1, 4)
    then = after(position({(2, 3): "W", (4, 3): "k", (5, 3): ("x", 150, 0), (6, 3): "k"}), act((2, 3), (4, 3)))
    assert (kind(then, 5, 3), hit_points(then, 6, 3)) == (units.EMPTY, 888)


def test_a_cleric_heals_the_living_and_revives_the_fallen():
    healed = after(position({(2, 3): "C", (3, 3): ("A", 100, 0)}), act((2, 3), (3, 3)))
    assert hit_points(healed, 3, 3) == 700
    revived = after(position({(2, 3): "C", (3, 3): ("K", 0, 0)}), act((2, 3), (3, 3)))
    assert hit_points(revived, 3, 3) == 400
    assert act((2, 3), (3, 3)) not in legal(position({(2, 3): "C", (3, 3): "A"}))


def test_the_fallen_are_stomped_or_removed_at_the_end_of_their_own_turn():
    state = position({(2, 3): "K", (3, 3): ("w", 0, 0), (5, 3): ("A", 0, 0), (8, 4): "k"})
    assert kind(after(state, act((2, 3), (3, 3))), 3, 3) == units.KNIGHT
    healer = position({(2, 3): "C", (3, 3): ("w", 0, 0)})
    assert kind(after(healer, act((2, 3), (3, 3))), 3, 3) == units.CLERIC  # who heals its own alone
    ended = after(state, LAYOUT.end_turn)
    assert (kind(ended, 5, 3), kind(ended, 3, 3)) == (units.EMPTY, units.WIZARD)


def test_inferno_burns_the_others_alone():
    fallen = {(4, 3): ("w", 0, 0), (5, 1): ("A", 0, 0)}
    state = position({(3, 3): "k", (4, 2): "K", (5, 2): ("w", None, 4), **fallen}, hand=["inferno"])
    burnt = after(state, play("inferno", (4, 2)))
    assert [hit_points(burnt, *at) for at in ((3, 3), (4, 2), (5, 2))] == [650, 1000, 880 - 245]
    assert (kind(burnt, 4, 3), kind(burnt, 5, 1)) == (units.EMPTY, units.ARCHER)


def test_potions_and_equipment():
    state = position({(3, 3): ("A", 0, 0), (4, 3): ("K", 100, 0)}, hand=["potion", "dragonscale"])
    assert hit_points(after(state, play("potion", (3, 3))), 3, 3) == 100
    assert hit_points(after(state, play("potion", (4, 3))), 4, 3) == 1000
    equipped = after(state, play("dragonscale", (4, 3)))
    assert (hit_points(equipped, 4, 3), board(equipped)["unit_equip"][3, 4]) == (110, 1)
    assert play("dragonscale", (3, 3)) not in legal(state)  # it is knocked down


def test_units_come_in_on_deploy_squares_also_over_the_fallen():
    state = position({(0, 0): ("k", 0, 0), (0, 4): "A"}, hand=["wizard"])
    assert LAYOUT.deploy(3, 0) in legal(state)
    assert LAYOUT.deploy(3, 1) not in legal(state)
    assert kind(after(state, LAYOUT.deploy(3, 0)), 0, 0) == units.WIZARD


def test_cards_go_back_only_to_a_deck_that_has_cards():
    assert LAYOUT.swap_card(5) in legal(position({}, hand=["inferno"]))
    assert LAYOUT.swap_card(5) not in legal(position({}, hand=["inferno"], deck=()))


def test_the_last_crystal_wins_at_once_and_the_last_unit_at_the_end_of_a_turn():
    state = position({(6, 2): "A", (8, 2): ("x", 100, 0), (7, 4): "k"})
    won = after(state, act((6, 2), (8, 2)))
    assert (bool(won.terminated), int(won.winner), np.asarray(won.rewards).tolist()) == (True, 0, [1.0, -1.0])
    state = position({(2, 3): "K", (3, 3): ("w", 0, 0)}, deck=("potion",))
    stomped = after(state, act((2, 3), (3, 3)))
    assert not bool(stomped.terminated)
    over = after(stomped, LAYOUT.end_turn)
    assert (bool(over.terminated), int(over.winner)) == (True, 0)
    worth = jax.jit(lambda state: (GAME.outcome(state), GAME.heuristic(state)))(over)
    assert np.asarray(worth).tolist() == [[1.0, -1.0]] * 2


def test_one_without_units_against_one_without_crystals_is_a_draw():
    state = position({(8, 2): ("x", 100, 0), (7, 4): "k"}, hand=["inferno"], deck=("potion",))
    over = after(state, play("inferno", (8, 2)))
    assert (bool(over.terminated), int(over.winner), np.asarray(over.rewards).tolist()) == (True, -1, [0.0, 0.0])


def test_a_turn_that_ends_without_any_unit_is_a_draw_unless_some_are_still_to_come():
    state = position({(2, 3): ("K", 0, 0), (7, 4): ("k", 0, 0)}, hand=["inferno"], deck=("potion",))
    burnt = after(state, play("inferno", (7, 4)))
    assert not bool(burnt.terminated)
    over = after(burnt, LAYOUT.end_turn)
    assert (bool(over.terminated), int(over.winner), np.asarray(over.rewards).tolist()) == (True, -1, [0.0, 0.0])
    for held, left in (((), ("knight",)), (("ninja",), ())):
        later = after(position({}, hand=held, other_hand=held, deck=left), LAYOUT.end_turn)
        assert (bool(later.terminated), int(later.player)) == (False, 1)


def test_the_turn_limit_is_a_draw_even_if_the_crystals_have_fallen():
    over = after(position({(2, 3): "K", (7, 4): "k"}, turn=100), LAYOUT.end_turn)
    assert (bool(over.terminated), int(over.winner), int(over.turn)) == (True, -1, 100)
    state = position({(6, 2): "A", (8, 2): ("x", 100, 0), (7, 4): "k"}, turn=100)
    assert int(after(state, act((6, 2), (8, 2))).winner) == -1


def test_end_turn_draws_and_hands_over():
    state = position({(2, 3): "K", (7, 4): "k"}, points=2, hand=["inferno"])
    ended = after(state, LAYOUT.end_turn)
    assert (int(ended.player), int(ended.action_points), int(ended.turn)) == (1, 5, 6)
    assert board(ended)["hand"].sum(1).tolist() == [3, 2]


def test_end_turn_is_offered_when_nothing_else_is_left_or_always_if_wanted():
    state = position({(2, 3): "K", (7, 4): "k"})
    assert LAYOUT.end_turn not in legal(state)
    assert legal(dataclasses.replace(state, action_points=jnp.int8(0))) == {LAYOUT.end_turn}
    early = make(end_turn_early=True)
    assert bool(early.legal_actions(state)[0, LAYOUT.end_turn])


@pytest.mark.parametrize("action", [-1, 10**6, LAYOUT.pass_action, act((2, 3), (5, 3))])
def test_what_is_not_legal_loses_and_after_the_end_nothing_changes(action):
    state = position({(2, 3): "K", (7, 4): "k"})
    over = STEP(state, jnp.int32(action))
    assert (bool(over.terminated), int(over.winner)) == (True, 1)
    again = STEP(over, jnp.int32(act((2, 3), (3, 3))))
    for name in ("board", "hands", "decks", "winner", "turn"):
        same = jax.tree.map(lambda a, b: bool((a == b).all()), getattr(over, name), getattr(again, name))
        assert all(jax.tree.leaves(same))
    assert np.asarray(again.rewards).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"action_points": 0}, "action_points=0: must be in 1..25"),
        ({"action_points": 1000}, "action_points=1000: must be in 1..25"),
        ({"turn_limit": 0}, "turn_limit=0"),
        ({"draws": "often"}, "draws='often'"),
        ({"board": ("d..D", "c.C")}, "must all be equally long"),
        ({"board": ("d.D", "c.?")}, r"'\?' is no square"),
        ({"board": ("d.D", "c..")}, "1 and 0 crystals"),
        ({"board": ("...", "c.C")}, "0 and 0 deploy squares"),
        ({"board": BOARDS["standard"] * 2}, "at most 64"),
        ({"deck": (1, 2)}, "2 kinds of cards"),
        ({"deck": (4, *[1] * 10)}, "4 x knight"),
        ({"deck": (1, 1, 1, 1, 2, *[1] * 6)}, "2 x ninja"),
        ({"deck": (1, 1, 0, 0, 0, *[1] * 6)}, "2 unit cards"),
        ({"action_points": 2.5}, "action_points=2.5: must be an integer"),
        ({"turn_limit": True}, "turn_limit=True: must be an integer"),
        ({"hidden_hands": 2}, "hidden_hands=2: must be True or False"),
        ({"inferno_slip": None}, "inferno_slip=None: must be True or False"),
        ({"draws": ["seeded"]}, r"draws=\['seeded'\]: must be one of seeded, random"),
        ({"board": "standard"}, "board='standard': must be rows of squares"),
        ({"board": np.zeros((5, 9))}, "must be rows of squares"),
        ({"board": ()}, r"board=\(\): must be rows of squares"),
        ({"deck": 3}, "deck=3: must be counts of cards, integers"),
        ({"deck": [1.0] * 11}, "must be counts of cards, integers"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(settings, message):
    with pytest.raises(ValueError, match=message) as error:
        HeroAcademyConfig(**settings)
    assert "\n" not in str(error.value)


def test_lists_arrays_and_their_numbers_are_as_good_as_tuples_of_ints():
    config = make(board=list(BOARDS["tiny"]), deck=np.ones(11, np.uint8), action_points=np.int64(5)).config
    assert config == HeroAcademyConfig(board=BOARDS["tiny"], deck=(1,) * 11)
    assert {type(number) for number in (*config.deck, config.action_points)} == {int}
    assert hash(config) == hash(HeroAcademyConfig(board=BOARDS["tiny"], deck=(1,) * 11))


# With the fewest and the most units and other cards; which kinds they are makes no difference to when units are dealt.
@pytest.mark.parametrize(
    "units_and_others",
    [(3, 3), pytest.param((3, 18), marks=pytest.mark.slow), pytest.param((13, 3), marks=pytest.mark.slow), (13, 18)],
)
def test_every_seed_deals_a_first_hand_of_any_deck(units_and_others):
    deck = [0] * 11
    for kinds, count in zip((range(5), range(5, 11)), units_and_others, strict=True):
        for number, card in enumerate(kinds):
            deck[card] = min(1 if card == 4 else 3, count - 3 * number) if count > 3 * number else 0
    hands, seeds = draws.seeded_hands(make(deck=deck).config.deck)
    counts = interop.counts_of(hands)
    assert (counts.sum(1) == 6).all() and (counts[:, :5].sum(1) == 3).all()
    assert seeds.min() >= 0 and seeds.max() <= draws.MOST_SEED


def test_no_seed_leaves_the_range_in_which_remainders_are_exact():
    every = np.arange(draws.MOST_SEED + 1, dtype=np.int32)
    after, remainder = np.asarray(jax.jit(draws.next_seed)(every)), jax.jit(draws.remainder)
    assert (after.min(), after.max()) == (7, draws.MOST_SEED)
    for divisor in range(1, 32):
        np.testing.assert_array_equal(remainder(every, np.int32(divisor)), every % divisor)


def test_modes():
    assert make("ap-15").config.action_points == 15
    assert (make("ap-1").config.turn_limit, make("ap-3").config.turn_limit) == (500, 166)
    assert make("hidden").config.hidden_hands
    for mode in ("large", "ap", "ap-x", "ap-0", "standard-3"):
        with pytest.raises(ValueError, match=r"mode=|action_points="):
            make(mode)
    with pytest.raises(ValueError, match="speed=3: no such setting"):
        make(speed=3)
