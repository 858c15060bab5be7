"""The pages of games and planners show what the code says."""

import dataclasses
import re

import pytest

from experiments.pages import fill
from experiments.reference import games, planners, words
from experiments.reference.docstrings import told_of
from jaxgames.registration import game_names
from jaxgames.specs import read_options
from search.presets import PLANNERS
from search.turns.game import has_turns
from training.storage.provenance import CHECKOUT

FORGOTTEN = "make reference writes the tables again"


def assert_shows(path, texts, tmp_path):
    """Fills a copy of a page and compares; speeds may be older than the newest rows."""
    page = CHECKOUT / path
    if "speed" in texts:
        texts["speed"] = re.search(r"<!-- table speed -->\n(.*?)\n<!-- /table -->", page.read_text(), flags=re.DOTALL)[1]
    copy = tmp_path / page.name
    fill(copy, texts, page)
    assert copy.read_text() == page.read_text(), FORGOTTEN


@pytest.mark.parametrize("name", game_names())
def test_games(name, tmp_path):
    assert_shows(words.GAMES / f"{name}.md", games.texts(name, rows=[]), tmp_path)


@pytest.mark.parametrize("page", planners.PAGES)
def test_planners(page, tmp_path):
    assert_shows(planners.FOLDER / f"{page}.md", planners.texts(page), tmp_path)


def test_every_planner_has_a_page():
    told = {
        (name, page == "turns" and mark in planners.OF_TURNS)
        for page, tables in planners.PAGES.items()
        for mark, of_table in tables.items()
        for name in of_table
    }
    there = {(entry.name, entry.suits is has_turns) for entry in PLANNERS if not entry.name.startswith(planners.IN_WORLDS)}
    assert there - told == {("greedy_action", True)}  # it has no settings
    assert told <= there


def test_settings_can_be_given_as_they_are_written_in_tables():
    for entry in PLANNERS:
        defaults = {name: words.written(value) for name, value in planners.defaults(entry).items() if name != entry.budget}
        read = read_options(entry.name, ",".join(map("=".join, defaults.items())), entry.kinds, example="")
        assert {name: words.written(value) for name, value in read.items()} == defaults, entry.name


@dataclasses.dataclass(frozen=True)
class Outer:
    """One.

    Attributes:
      first, second: what both are,
        over two lines.
    """

    first: int = 0
    second: int = 0


@dataclasses.dataclass(frozen=True)
class Inner(Outer):
    """Two.

    Attributes:
      second: told again.

    Raises:
      third: is none.
    """

    third: int = 0


def test_docstrings():
    assert told_of(Outer) == {"first": "what both are, over two lines.", "second": "what both are, over two lines."}
    assert told_of(Inner) == {"first": "what both are, over two lines.", "second": "told again."}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "1"),
        (0.1, "0.1"),
        ((1, 2), "1+2"),
        (("a", "b"), "a+b"),
        ((("a", "b"), ("c",)), "a+b/c"),
        ("", '""'),
    ],
)
def test_settings_are_written_as_command_lines_take_them(value, text):
    assert words.written(value) == text


def test_tables_keep_their_cells():
    assert words.cell("a|b **") == "a\\|b \\*\\*"
