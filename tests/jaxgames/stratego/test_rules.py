"""One position per clause of the rules, lists of legal moves, and what a config refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.stratego import Stratego, StrategoConfig, interop, moves, notation
from jaxgames.stratego.constants import KIND_NAMES, LETTERS
from jaxgames.stratego.hidden import hidden_pieces
from jaxgames.stratego.observation import observe
from tests.jaxgames.stratego.playing import CONFIG, P2SRO, at, board, play, position, random_game

RED, BLUE = (dict(zip(KIND_NAMES, letters, strict=True)) for letters in LETTERS)


def battle(attacker, defender, config=CONFIG):
    """Red on b2 attacks Blue on b3; both sides can move elsewhere."""
    others = "P" if defender == "spy" else "O", "D" if attacker == "spy" else "C"
    state = position(f"Yaaaa aaaa{others[0]} a{BLUE[defender]}_aa a{RED[attacker]}aaa Maaa{others[1]}", config)
    return state, play(state, "b2b3", config=config)


@pytest.mark.parametrize(
    ("attacker", "defender", "result"),
    [
        ("miner", "bomb", "wins"),
        ("marshal", "bomb", "loses"),
        ("spy", "marshal", "wins"),
        ("marshal", "spy", "wins"),
        ("spy", "general", "loses"),
        ("general", "sergeant", "wins"),
        ("scout", "scout", "ties"),
        ("scout", "miner", "loses"),
    ],
)
def test_battles(attacker, defender, result):
    _, after = battle(attacker, defender)
    shown = {"wins": RED[attacker].lower(), "loses": BLUE[defender].lower(), "ties": "a"}[result]
    assert board(after).split()[2][1] == shown  # open from now on
    assert board(after).split()[3][1] == "a"
    assert not after.terminated and int(after.player) == 1 and int(after.ply) == 1


def test_who_captures_the_flag_wins():
    after = play(position("aaaaY aaaaE aa_aa aaaaa MaaaQ"), "e4e5")
    assert after.terminated and int(after.winner) == 0 and after.rewards.tolist() == [1, -1]


def test_scouts_go_far_and_attack_at_once_but_jump_nothing():
    state = position("YaPaa aaaaa Da_aO aaaaa MaCaa")
    names = {moves.move_text(CONFIG, action, 0) for action in interop.legal_list(CONFIG, state)}
    assert {name for name in names if name.startswith("a3")} == {"a3a2", "a3a4", "a3a5", "a3b3"}
    after = play(state, "a3a5")
    assert after.terminated and int(after.winner) == 0


def test_flags_and_bombs_stay_and_lakes_stop():
    state = position("YaaaO aaaaa Na_aa aaEaa MBaaC")
    starts = {moves.move_text(CONFIG, action, 0) for action in interop.legal_list(CONFIG, state)}
    assert starts == {"c2b2", "c2d2", "c2c1", "e1d1", "e1e2"}


def test_who_cannot_move_loses():
    assert position("YNaaa Naaaa aa_aa aaaaE MaaaB", turn="b 4").winner == 0
    after = play(position("YNaaa Naaaa aa_aa aaaaE MaaaB"), "e2e3")
    assert after.terminated and int(after.winner) == 0


def test_who_has_moved_wins_even_if_then_neither_can_move():
    """The last two pieces that move take each other."""
    for config in (CONFIG, P2SRO):
        after = play(position("YNaaa aaaaP aa_aD aaaaa MaaaB", config), "e3e4", config=config)
        assert board(after, config) == "YNaaa aaaaa aa_aa aaaaa MaaaB"
        assert after.terminated and int(after.winner) == 0 and after.rewards.tolist() == [1, -1]


def test_too_many_moves_are_a_draw():
    state = position("YaaaO aaaaa aa_aa aaaaa MaaaC", turn=f"r {CONFIG.max_plies - 1}")
    after = play(state, "e1e2")
    assert after.terminated and int(after.winner) == -1 and after.rewards.tolist() == [0, 0]


@jax.jit
def stepped(state, actions):
    game = Stratego(CONFIG)
    after = game.step(state, actions)
    return after, game.outcome(after)


@pytest.mark.parametrize("action", [-1, 0, 10**6])
def test_a_move_that_is_not_legal_loses(action):
    state = position("YaaaO aaaaa aa_aa aaaaa MaaaC")
    after, outcome = stepped(state, np.array([action, action]))
    assert bool(after.terminated) and outcome.tolist() == [-1, 1] and after.rewards.tolist() == [-1, 1]
    assert board(at(after)) == board(state)


def test_a_finished_game_stays():
    end = play(position("aaaaY aaaaE aa_aa aaaaa MaaaQ"), "e4e5")
    after, outcome = stepped(end, np.zeros(2, int))
    assert after.rewards.tolist() == [0, 0] and outcome.tolist() == [1, -1]
    assert notation.write(CONFIG, at(after)) == notation.write(CONFIG, end)


def test_a_piece_goes_to_and_fro_only_so_often():
    """The two-square rule: A-B, B-A, A-B and then not B-A, unless it is an attack or another piece has moved between."""
    state = position("YaaaO aaaaa aa_aa Eaaaa MaaaC", P2SRO)
    state = play(state, "a2a3", "e5e4", "a3a2", "e4e5", "a2a3", "e5d5", config=P2SRO)
    names = {moves.move_text(P2SRO, action, 0) for action in interop.legal_list(P2SRO, state)}
    assert "a3a2" not in names and {"a3a4", "a3b3"} <= names
    with pytest.raises(ValueError, match="a3a2: is not legal"):
        play(state, "a3a2", config=P2SRO)
    rested = play(state, "e1e2", "d5e5", config=P2SRO)
    assert "a3a2" in {moves.move_text(P2SRO, action, 0) for action in interop.legal_list(P2SRO, rested)}
    free = play(position("YaaaO aaaaa aa_aa Eaaaa MaaaC"), "a2a3", "e5e4", "a3a2", "e4e5", "a2a3", "e5d5", "a3a2")
    assert int(free.ply) == 7
    state = position("YaaaP aaaaa aa_aa Eaaaa MaaaC", P2SRO)
    met = play(state, "a2a3", "e5e4", "a3a2", "e4e2", "a2a3", "e2a2", config=P2SRO)
    assert "a3a2" in {moves.move_text(P2SRO, action, 0) for action in interop.legal_list(P2SRO, met)}
    assert board(play(met, "a3a2", config=P2SRO), P2SRO).split()[3][0] == "e"


def test_a_piece_that_follows_another_one_goes_to_and_fro_once_less():
    """The two-square rule knows cells alone: who enters the one that was just left is taken to have come back to it."""
    state = position("YaaaO aaaaa aa_aa ELaaa MaaaC", P2SRO)
    state = play(state, "a2a3", "e5e4", "b2a2", "e4e5", "a2b2", "e5d5", config=P2SRO)
    names = {moves.move_text(P2SRO, action, 0) for action in interop.legal_list(P2SRO, state)}
    assert "b2a2" not in names and {"b2b1", "b2b3", "b2c2", "a3a2"} <= names


def test_a_scout_may_go_on_beyond_the_forbidden_cell():
    state = position("YaaaO aaaaa Da_aa aaaaa aMaaC", P2SRO)
    state = play(state, "a3a2", "e5e4", "a2a3", "e4e5", "a3a2", "e5d5", config=P2SRO)
    names = {moves.move_text(P2SRO, action, 0) for action in interop.legal_list(P2SRO, state)}
    assert "a2a3" not in names and {"a2a4", "a2a5"} <= names


def test_who_has_only_that_move_is_not_stuck():
    state = position("aaaaY aaaaO Da_aa aBaaa Maaaa", P2SRO)
    state = play(state, "a3a2", "e4e3", "a2a3", "e3e4", "a3a2", "e4d4", config=P2SRO)
    names = {moves.move_text(P2SRO, action, 0) for action in interop.legal_list(P2SRO, state)}
    assert not state.terminated and names == {"a2a4", "a2a5"}


def test_what_is_seen_to_go_far_is_shown_only_with_scout_reveal():
    for config, letter in ((CONFIG, "D"), (P2SRO, "d")):
        after = play(position("YaaaO aaaaa Da_aa aaaaa MaaaC", config), "a3a4", config=config)
        assert board(after, config).split()[1][0] == "D"
        after = play(position("YaaaO aaaaa aa_aa aaaaa aDMaC", config), "b1b4", config=config)
        assert board(after, config).split()[1][1] == letter
        # What the other does not know any more is as many pieces as it has not seen.
        assert jax.jit(lambda state, config=config: hidden_pieces(config, observe(config, state, 1)).fits)(at(after))


def test_what_has_gone_far_unseen_is_a_scout_for_good():
    start = position("YaaaO aaaaa aa_aa aaaaa aDMaC")
    for texts, cells in ((("b1b4",), [16]), (("b1b4", "e5e4", "b4b3"), [11]), (("b1b2",), [])):
        after = play(start, *texts)
        assert np.flatnonzero(interop.to_arrays(CONFIG, at(after))["far"]).tolist() == cells


def test_who_beats_an_attacker_counts_as_moved_only_with_defence_moves():
    for config, moved in ((CONFIG, False), (P2SRO, True)):
        _, after = battle("scout", "miner", config)
        assert bool(interop.to_arrays(config, after)["moved"][11]) is moved


def test_the_other_player_can_only_pass():
    game = Stratego(CONFIG)
    state = position("YaaaO aaaaa aa_aa aaaaa MaaaC")
    legal = jax.jit(game.legal_actions)(state)
    assert legal[1].sum() == 1 and bool(legal[1, game.pass_action]) and not bool(legal[0, game.pass_action])


@pytest.mark.parametrize("config", [pytest.param(CONFIG, marks=pytest.mark.slow, id="alphaze"), pytest.param(P2SRO, id="p2sro")])
def test_lists_of_legal_moves_agree_in_random_games(config):
    """Dense lists, lists of arms and a slow count in plain Python; actions and moves are inverse."""
    game = Stratego(config)
    states = [state for seed in range(4) for state in random_game(config, 60, seed)[:-1]]
    legal = np.zeros((len(states), game.num_actions - 1), bool)
    for row, state in zip(legal, states, strict=True):
        row[interop.legal_list(config, state)] = True

    @jax.jit
    @jax.vmap
    def arms_of(state):
        arms, fine = game.search_arms(state)
        here = jnp.where(fine[state.player], arms[state.player], game.pass_action)
        return jnp.zeros(game.num_actions, bool).at[here].set(True)[:-1], fine[state.player].sum()

    flat = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    listed, count = arms_of(flat)
    assert (np.asarray(listed) == legal).all() and (np.asarray(count) == legal.sum(1)).all()
    arrays = interop.to_arrays(config, flat)
    for row in range(0, len(states), 7):
        assert np.flatnonzero(legal[row]).tolist() == slow_legal(config, {name: array[row] for name, array in arrays.items()})


def slow_legal(config: StrategoConfig, board: dict) -> list[int]:
    """Legal moves by walking cell by cell."""
    seat, piece, owner = int(board["player"]), board["piece"], board["owner"]
    start, end, level = board["recent"][seat].tolist()
    found = []
    for cell in np.flatnonzero(owner == seat).tolist():
        if piece[cell] in (1, 12):
            continue
        row, column = divmod(cell, config.columns)
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            for distance in range(1, 10 if piece[cell] == 3 else 2):
                r, c = row + down * distance, column + right * distance
                target = r * config.columns + c
                if not (0 <= r < config.rows and 0 <= c < config.columns) or piece[target] < 0 or owner[target] == seat:
                    break
                forbidden = config.two_square and level == 3 and (cell, target) == (end, start) and piece[target] == 0
                if not forbidden:
                    found.append(moves.action_of(config, cell, target, seat))
                if piece[target] > 0:
                    break
    return sorted(found)


def test_numbers_of_moves_are_those_of_the_published_code():
    full = jaxgames.make("stratego", "stratego").config
    for text, seat, number in (("a4a5", 0, 117), ("k4k5", 0, 3357), ("f5e5", 0, 1970), ("b7b6", 1, 477), ("k8k7", 1, 3321)):
        assert moves.parse_move(full, text, seat) == number and moves.move_text(full, number, seat) == text
    for text in ("a9a:", "a:a9", "a:b:"):
        assert moves.parse_move(full, text.replace(":", "10"), 0) == moves.parse_move(full, text, 0)
        assert moves.move_text(full, moves.parse_move(full, text, 0), 0) == text
    for text in ("a4", "a4a5a6", "a4a100", "104a5"):
        with pytest.raises(ValueError, match=rf"move='{text}': must be two cells"):
            moves.parse_move(full, text, 0)
    table = moves.table(full, 1)
    numbers = np.flatnonzero(table.inside)
    move, inside = moves.to_move(full, jnp.asarray(numbers), jnp.int32(1))
    assert inside.all() and (move.start == table.start[numbers]).all() and (move.end == table.end[numbers]).all()
    assert (moves.to_action(full, move, jnp.int32(1)) == numbers).all()
    assert not bool(moves.to_move(full, jnp.asarray(np.flatnonzero(~table.inside)), jnp.int32(1))[1].any())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pieces": (1,) * 11}, "12 numbers"),
        ({"pieces": (2,) + (0,) * 11}, "one flag"),
        ({"pieces": (1, *(0,) * 11)}, "one that moves"),
        ({"pieces": (1, 0, 35, 6, *(0,) * 8)}, "42 must fit into red's 40 home cells"),
        ({"lakes": (42, 42)}, "and once"),
        ({"lakes": (100,)}, "0..99"),
        ({"rows": 11}, "in 3..10"),
        ({"setups": "clever"}, "human, uniform"),
        ({"rows": 8, "home_rows": 3, "pieces": (1, 1, *(0,) * 10), "lakes": ()}, "uniform unless"),
        ({"open_pieces": ("king",)}, "'king' must be one of"),
        ({"blocked_fields": 100}, "blocked_fields=100"),
        ({"blocked_fields": True}, "blocked_fields=True: must be an integer in 0..12"),
        ({"blocked_fields": 12}, "blocked_fields=12: must be fewer: hardly any draw of so many leaves all pieces within reach"),
        ({"lakes": tuple(range(40, 60))}, "must leave a way from some home cell of Red's to one of Blue's"),
        ({"start": "a" * 99 + " r 0"}, "99 letters"),
        ({"start": 5}, "start=5: must be a position as text"),
        ({"start": "a" * 100 + " r 0", "open_pieces": ["flag"]}, r"open_pieces=\('flag',\): must be \(\) with a start"),
        ({"lakes": 5}, "lakes=5: must be a tuple"),
        ({"open_pieces": "flag"}, "open_pieces='flag': must be a tuple"),
        ({"two_square": "yes"}, "two_square='yes': must be True or False"),
    ],
)
def test_a_config_is_checked_when_made(settings, message):
    with pytest.raises(ValueError, match=message):
        StrategoConfig(**settings)
