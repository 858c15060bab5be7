"""Where hexagons lie in pictures of Hex."""

import math

import pytest

from jaxgames.hex.geometry import BLACK, WHITE, HexGrid
from jaxgames.hex.honeycomb import Honeycomb

SIZE, SIDE, MARGIN = 4, 10.0, 7.0
COMB = Honeycomb(SIZE, SIDE, MARGIN)


def points(text):
    return [tuple(map(float, point.split(","))) for point in text.split()]


def test_neighbours_are_as_far_apart_as_the_cell_is_wide_and_share_a_side():
    table = HexGrid(SIZE, SIZE).neighbour_table
    for cell, neighbours in enumerate(table.tolist()):
        for other in range(SIZE**2):
            apart = math.dist(COMB.middle(cell), COMB.middle(other))
            assert (apart < 1.01 * COMB.wide) == (other in (cell, *neighbours))
            shared = set(points(COMB.outline(cell))) & set(points(COMB.outline(other)))
            assert len(shared) == (6 if other == cell else 2 if other in neighbours else 0)


def test_the_first_cell_lies_at_the_margin():
    corners = points(COMB.outline(0))
    assert min(x for x, _ in corners) == min(y for _, y in corners) == MARGIN
    assert max(y for _, y in corners) == MARGIN + 2 * SIDE


def test_edges_run_along_the_cells_of_their_sides():
    lines = [(player, points(line)) for player, line in COMB.edges()]
    assert [player for player, _ in lines] == [BLACK, BLACK, WHITE, WHITE]
    last = SIZE * (SIZE - 1)
    rims = (range(SIZE), range(last, SIZE**2), range(0, SIZE**2, SIZE), range(SIZE - 1, SIZE**2, SIZE))
    inner = {point for cell in (5, 6, 9, 10) for point in points(COMB.outline(cell))}
    for (_, line), cells in zip(lines, rims, strict=True):
        assert set(line) <= {point for cell in cells for point in points(COMB.outline(cell))} - inner
    (_, tight), (_, wide) = COMB.edges()[0], COMB.edges(1.5)[0]
    assert min(y for _, y in points(wide)) == pytest.approx(min(y for _, y in points(tight)) - SIDE / 2)
