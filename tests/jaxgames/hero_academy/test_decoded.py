"""What the number of an action says, on the host."""

import jax
import numpy as np
import pytest

from jaxgames.hero_academy import actions, cards, decoded, make
from jaxgames.hero_academy.actions import OFFSETS
from jaxgames.hero_academy.decoded import NOWHERE, Decoded, decode

CONFIG = make("standard").config
LAYOUT = actions.layout(CONFIG)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (LAYOUT.unit(OFFSETS.index((2, -1)), 12), Decoded(decoded.UNIT, start=12, end=12 + 2 - CONFIG.grid.columns)),
        (LAYOUT.trade_with(40), Decoded(decoded.TRADE, end=40)),
        (LAYOUT.play(cards.POTION, 44), Decoded(decoded.CARD, cards.POTION, end=44)),
        (LAYOUT.swap_card(cards.INFERNO), Decoded(decoded.SWAP, cards.INFERNO)),
        (LAYOUT.end_turn, Decoded(decoded.END)),
        (LAYOUT.pass_action, Decoded(decoded.PASS)),
    ],
)
def test_every_kind(action, said):
    assert decode(CONFIG, 0, action) == said == decode(CONFIG, 1, action)


def test_units_are_deployed_on_squares_of_their_seat():
    for seat, squares in enumerate(CONFIG.deploy_cells):
        ends = [decode(CONFIG, seat, LAYOUT.deploy(2, place)) for place in range(len(squares))]
        assert ends == [Decoded(decoded.DEPLOY, 2, end=int(cell)) for cell in squares]


def test_what_is_no_action():
    off_board = [
        LAYOUT.unit(OFFSETS.index((1, 0)), CONFIG.grid.columns - 1),
        LAYOUT.unit(OFFSETS.index((0, -1)), 0),
        LAYOUT.trade_with(CONFIG.num_cells),
        LAYOUT.play(cards.POTION, CONFIG.num_cells),
        LAYOUT.pass_action + 1,
        LAYOUT.num_actions,
        -1,
    ]
    assert [decode(CONFIG, 0, action) for action in off_board] == [None] * len(off_board)


def test_programs_and_pages_read_the_same():
    """All numbers, with a few beside them."""
    numbers = np.arange(-40, LAYOUT.num_actions + 40, dtype=np.int32)
    parsed = jax.device_get(jax.jit(jax.vmap(LAYOUT.parse))(numbers))
    columns = CONFIG.grid.columns
    for place, action in enumerate(numbers.tolist()):
        said = decode(CONFIG, 0, action)
        if said is None:
            continue
        one = jax.tree.map(lambda leaf, place=place: leaf[place], parsed)
        flags = {
            decoded.UNIT: one.is_unit,
            decoded.TRADE: one.is_trade,
            decoded.CARD: one.is_card,
            decoded.DEPLOY: one.is_deploy,
            decoded.SWAP: one.is_swap_card,
            decoded.END: one.is_end,
        }
        assert [kind for kind, flag in flags.items() if flag] == [said.kind] * (said.kind != decoded.PASS)
        assert one.card == said.card
        if said.kind == decoded.UNIT:
            assert (one.cell, one.cell + one.down * columns + one.right) == (said.start, said.end)
        elif said.kind in (decoded.TRADE, decoded.CARD):
            assert said.start == NOWHERE and one.cell == said.end
        elif said.kind == decoded.DEPLOY:
            assert CONFIG.deploy_cells[0, one.place] == said.end
