"""Figures of results: what must not run into each other, or look alike."""

import pytest
from matplotlib.figure import Figure

from experiments.papers import figures
from training.jobs.figures import COLOURS, axes_in_a_row


@pytest.mark.parametrize(("length", "columns"), [(5, 4), (60, 1)])
def test_a_legend_has_as_many_columns_as_there_is_room_for(length, columns):
    figure, (axes,) = axes_in_a_row(1, "", ("",))
    names = [f"{number}".ljust(length, "x") for number in range(4)]
    figures._legend_below(figure, {name: axes.plot([0, 1], [0, 1])[0] for name in names})
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    figure.draw_without_rendering()
    left = {round(text.get_window_extent().x0) for text in legend.get_texts()}
    assert len(left) == columns
    assert max(text.get_window_extent().x1 for text in legend.get_texts()) <= figure.bbox.x1


def test_numbers_that_would_touch_are_left_out():
    axes = Figure().subplots()
    figures._numbers_apart(axes, [25, 98, 131, 1000])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["25", "98", "1,000"]


def test_bars_after_the_last_colour_have_a_pattern():
    groups = {f"player {number}": [0.5] for number in range(len(COLOURS) + 1)}
    assert "<pattern" in figures.bars_figure(["stop"], groups)
    groups.popitem()
    assert "<pattern" not in figures.bars_figure(["stop"], groups)
