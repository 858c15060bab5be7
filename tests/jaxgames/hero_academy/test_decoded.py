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


@pytest.mark.parametrize("mode", ["standard", "tiny"])
def test_programs_and_pages_read_the_same(mode):
    """All numbers, with a few beside them, on a board of two words and on one of one word."""
    config = make(mode).config
    layout, columns = actions.layout(config), config.grid.columns
    numbers = np.arange(-40, layout.num_actions + 40, dtype=np.int32)
    parsed = jax.device_get(jax.jit(jax.vmap(layout.parse))(numbers))
    kinds = {
        decoded.UNIT: parsed.is_unit,
        decoded.TRADE: parsed.is_trade,
        decoded.CARD: parsed.is_card,
        decoded.DEPLOY: parsed.is_deploy,
        decoded.SWAP: parsed.is_swap_card,
        decoded.END: parsed.is_end,
    }
    rows, rights = np.divmod(parsed.cell, columns)
    inside = (parsed.cell < config.num_cells) & (rows + parsed.down >= 0) & (rows + parsed.down < config.grid.rows)
    inside &= (rights + parsed.right >= 0) & (rights + parsed.right < columns)
    possible = {
        decoded.UNIT: inside,
        decoded.TRADE: parsed.cell < config.num_cells,
        decoded.CARD: parsed.cell < config.num_cells,
        decoded.DEPLOY: parsed.place < config.deploy_cells.shape[1],
    }
    for place, action in enumerate(numbers.tolist()):
        said = decode(config, 0, action)
        expected = [kind for kind, flags in kinds.items() if flags[place] and possible.get(kind, flags)[place]]
        assert expected == ([] if said is None or said.kind == decoded.PASS else [said.kind])
        if said is None:
            assert action != layout.pass_action
            continue
        assert parsed.card[place] == said.card
        cell = parsed.cell[place]
        if said.kind == decoded.UNIT:
            assert (cell, cell + parsed.down[place] * columns + parsed.right[place]) == (said.start, said.end)
        elif said.kind in (decoded.TRADE, decoded.CARD):
            assert said.start == NOWHERE and cell == said.end
        elif said.kind == decoded.DEPLOY:
            assert config.deploy_cells[0, parsed.place[place]] == said.end
