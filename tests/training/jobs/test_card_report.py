"""The card report: its figures on made-up battles, what it refuses, and a small one that is killed and goes on."""

import dataclasses
import json
import math
import os
import signal

import numpy as np
import pytest
from rich.console import Console

from jaxgames.clash.card_file import standard_table
from jaxgames.clash.config import BEGINNER_DECK
from tests.processes import prepared_environment, run_python
from training.jobs import card_page, card_report, card_statistics
from training.jobs.card_report import ReportConfig
from training.jobs.card_statistics import Level
from training.play import card_battles
from training.play.card_battles import COUNTS, Decks, Part

DECK = "+".join(BEGINNER_DECK)
OTHER = ("hog-rider", "valkyrie", "wizard", "goblins", "mega-minion", "mini-pekka", "spear-goblins", "poison")
SMALL = ReportConfig(change=("Knight.hp=2500",), player="random", mode="toy", battles=4, batch=8)


def asked(**settings):
    return card_report.comparison(dataclasses.replace(SMALL, **settings))


def made_up(blocks, cards, seed=0):
    """Battles in which everything is drawn."""
    rng = np.random.default_rng(seed)
    shape = (blocks, 2, 2)
    counts = rng.integers(1, 9, size=(*shape, 2, cards + 1, len(COUNTS))).astype(np.float32)
    return Part(rng.integers(3, size=shape).astype(np.float32) / 2, rng.integers(20, 40, size=shape).astype(np.int32), counts)


def test_means_and_what_they_need():
    level = Level(alpha=0.05, power=0.8)
    values = np.array([0.0, 1.0, 0.0, 1.0])
    found = card_statistics.mean(values, level)
    error = 1.959964 * math.sqrt(1 / 3) / 2
    assert found == {"mean": 0.5, "low": pytest.approx(0.5 - error, abs=1e-5), "high": pytest.approx(0.5 + error, abs=1e-5)}
    # Textbooks: two-sided 5 %, 80 %: (1.96 + 0.84)^2 = 7.85 variances for a difference of one standard deviation.
    assert level.battles(1.0, 0.1) == 4 * math.ceil(784.887) and level.smallest(1.0, 785) == pytest.approx(0.1, abs=1e-4)
    assert Level(alpha=0.01, power=0.9).battles(1.0, 1.0) == 4 * 15


def test_intervals_of_ratios_hold_what_they_promise():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        below = rng.integers(1, 5, 60).astype(float)
        above = 2 * below + rng.normal(0, 1, 60)
        found = card_statistics.ratio(above, below, Level())
        held += found["low"] <= 2 <= found["high"]
    assert 365 <= held <= 395
    assert card_statistics.ratio(np.zeros(3), np.zeros(3), Level()) is None


def test_a_ratio_to_ones_is_a_mean():
    values = np.array([1.0, 4.0, 2.0])
    assert card_statistics.ratio(values, np.ones(3), Level()) == card_statistics.mean(values, Level())
    both = (np.zeros(3), np.ones(3)), (values, np.ones(3))
    assert card_statistics.ratio_difference(*both, Level()) == card_statistics.mean(values, Level())


def test_a_report_of_made_up_battles(tmp_path):
    compared = asked(against=(DECK, "+".join(OTHER)))
    table = compared.game.config.table
    part = made_up(6, len(table.cards))
    report = card_statistics.summarize(part, compared.decks, table, Level())
    assert report["battles"] == 24 and [one["blocks"] for one in report["decks"]] == [3, 3]
    own = part.counts[:, :, :, 0]
    knight = report["cards"][0]
    without = own[:, 0, :, table.card_ids["knight"]].sum((0, 1))
    assert (knight["card"], knight["with"]) == ("knight", "knight*")
    assert knight["plays"]["without"]["mean"] == pytest.approx(without[0] / 12, abs=1e-4)
    assert knight["damage"]["without"]["mean"] == pytest.approx((without[1] + without[2]) / (3 * without[0]), abs=1e-4)
    assert knight["use_rate"]["without"]["mean"] == pytest.approx(without[0] / own[:, 0, :, :, 0].sum(), abs=1e-4)
    points = part.points.mean(2)
    assert report["all"]["difference"]["mean"] == pytest.approx((points[:, 1] - points[:, 0]).mean(), abs=1e-4)
    settings = {"mode": "toy", "alpha": 0.05}
    decks = {"without": list(compared.decks.before), "with": list(compared.decks.after)}
    report |= {"change": compared.change, "players": ["random", "random"], "deck": decks, "settings": settings}
    page = card_page.page(report, card_page.plots(report))
    assert page.count("<img") == 5 and "Knight.hp=2500 (was 1766)" in page and "deck 2: hog-rider" in page
    assert "No plots: <code>pip install '.[viz]'</code> in a checkout" in card_page.page(report, {})
    assert "alpha 0.05, power 0.8" in card_page.lines(report)[-1]
    same = dataclasses.replace(part, points=np.full_like(part.points, 0.5))
    told = card_page.power_lines(report | card_statistics.summarize(same, compared.decks, table, Level()))
    assert told == ["power (alpha 0.05, power 0.8): the arms do not differ in any block, so nothing can be said"]
    report["power"]["smallest_difference"] = 1.2
    assert ": 24 battles are too few to find any difference; battles for" in card_page.power_lines(report)[0]


def test_a_report_of_one_block_has_no_intervals():
    compared = asked()
    table = compared.game.config.table
    one = card_statistics.summarize(made_up(1, len(table.cards)), compared.decks, table, Level())
    json.dumps(one, allow_nan=False)  # others than Python read it too
    assert one["all"]["difference"]["low"] is None and one["power"]["spread"] is None
    assert card_page.verdict(one).endswith("a single block of battles has no interval")
    assert card_page.short_cell(one["all"], 100).count("*") == 0 and "to" not in card_page.cell(one["all"], 100)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.01, 0.05, "makes +3.0 points of 100 (interval +1.0 to +5.0): more than without"),
        (-0.09, -0.01, "makes -5.0 points of 100 (interval -9.0 to -1.0): fewer than without"),
        (-0.01, 0.05, "makes +2.0 points of 100 (interval -1.0 to +5.0): no difference is found"),
    ],
)
def test_the_answer_comes_first(low, high, told):
    difference = {"mean": (low + high) / 2, "low": low, "high": high}
    assert card_page.verdict({"all": {"difference": difference}}) == f"With the change the deck {told}"


def test_parts_are_files():
    part = made_up(2, 5)
    again = card_battles.read_part(part.as_bytes(), 2, 5)
    assert all(np.array_equal(getattr(again, name), value) for name, value in vars(part).items())
    with pytest.raises(ValueError, match=r"torn, or no part of a report \(\w+\)"):
        card_battles.read_part(part.as_bytes()[:-30], 2, 5)
    with pytest.raises(ValueError, match=r"points of shape \(2, 2, 2\): must be \(3, 2, 2\)"):
        card_battles.read_part(part.as_bytes(), 3, 5)


def test_decks_of_both_arms():
    compared = asked()
    assert compared.decks == Decks(BEGINNER_DECK, ("knight*", *BEGINNER_DECK[1:]), (BEGINNER_DECK,))
    assert asked(change=(), new_deck="+".join(OTHER)).decks.after == OTHER
    assert card_report.sizes(4) == (2, 1) and card_report.sizes(500) == (63, 4)
    assert card_report.sizes(500, decks=2) == (64, 4), "each part begins with the first deck"
    assert card_report.sizes(500, decks=3) == (63, 4) and card_report.sizes(4, decks=3) == (3, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"change": ()}, "nothing is changed: give --change, --row or --new-deck"),
        ({"new_deck": DECK}, "new_deck='.*': is a change of its own; leave out change"),
        ({"battles": 1}, "battles=1: must be >= 2"),
        ({"battles": 10**12}, "battles=1000000000000: must be < 2147483648"),
        ({"alpha": 1.0}, "alpha=1.0: must be above 0 and below 1"),
        ({"deck": "knight+giant"}, r"deck='knight\+giant': 2 cards, must be 8"),
        ({"deck": "+".join(["knight"] * 8)}, "deck='.*': 'knight' is there twice, must be there once"),
        ({"against": ("night",)}, r"against='night': 'night' is no card; perhaps knight\?"),
        ({"against": ("page",)}, "against='page': 'page' is no card; there are knight, giant, "),
        ({"deck": "+".join(OTHER)}, r"deck: none of its cards changes; the change is of knight, so give a deck with one of them"),
        ({"instead_of": "knight"}, "instead_of='knight': is for new cards, and there is none"),
        ({"instead_of": "night"}, r"instead_of='night': is no card; perhaps knight\?"),
        ({"row": "nothing.json"}, "nothing.json: cannot be read"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=f"^{message}") as error:
        asked(**settings)
    assert "\n" not in str(error.value)


def test_a_new_card_takes_the_place_of_another(tmp_path):
    table, path = standard_table(), tmp_path / "page.json"
    card = dataclasses.asdict(table.card("knight")) | {"key": "page", "name": "Page", "cost": 2}
    path.write_text(json.dumps(card))
    assert asked(change=(), row=str(path), instead_of="giant").decks.after[:2] == ("knight", "page")
    with pytest.raises(ValueError, match="instead_of='': 'page' is new; must be one of knight, giant, "):
        asked(change=(), row=str(path))


@pytest.fixture
def stopped(monkeypatch):
    """A report is stopped before its first battle is over."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(card_battles, "play_part", stop)


@pytest.mark.usefixtures("stopped")
def test_a_report_that_has_played_nothing_is_in_nobodys_way(tmp_path):
    config = dataclasses.replace(SMALL, output=str(tmp_path))
    for seed in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            card_report.run(dataclasses.replace(config, seed=seed), Console(quiet=True))
        assert json.loads((tmp_path / "parts.json").read_text())["settings"]["seed"] == seed
    blocks, _ = card_report.sizes(config.battles)
    part = made_up(blocks, len(asked().game.config.table.cards))
    (tmp_path / "part-0000.npz").write_bytes(part.as_bytes())
    with pytest.raises(ValueError, match="holds a report with other seed; give another folder"):
        card_report.run(config, Console(quiet=True))


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("text", ["[]", "null", "{", "{}", '{"settings": []}'])
def test_parts_of_something_else_are_told_in_one_line(text, tmp_path):
    (tmp_path / "parts.json").write_text(text)
    told = r"parts\.json: torn, or no settings of a report; give another folder, or remove it$"
    with pytest.raises(ValueError, match=told):
        card_report.run(dataclasses.replace(SMALL, output=str(tmp_path)), Console(quiet=True))
    assert (tmp_path / "parts.json").read_text() == text


@pytest.mark.slow
def test_a_report_that_was_killed_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(card_report, "PART_BLOCKS", 1)
    config = dataclasses.replace(SMALL, output=str(tmp_path / "whole"))
    whole = card_report.run(config, Console(quiet=True))
    assert whole["battles"] == 8 and whole["all"]["without"]["mean"] == whole["all"]["without"]["low"] == 0.5
    assert whole["answer"].startswith("With the change the deck makes ")
    folder = tmp_path / "parts"
    code = (
        "import dataclasses, os, signal\n"
        "from jaxgames import runtime; runtime.prepare()\n"
        "from training.jobs import card_report\n"
        "card_report.PART_BLOCKS = 1\n"
        "write = card_report.write_atomically\n"
        "def stop(path, content):\n"
        "    if 'part-0001' in str(path): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    write(path, content)\n"
        "card_report.write_atomically = stop\n"
        f"card_report.run(card_report.{dataclasses.replace(config, output=str(folder))!r})\n"
    )
    assert run_python(["-c", code], prepared_environment()).returncode == -signal.SIGKILL and os.path.exists(
        folder / "part-0000.npz"
    )
    again = card_report.run(dataclasses.replace(config, output=str(folder)), Console(quiet=True))
    for report in (whole, again):
        report["settings"].pop("output")
    assert again == whole
    (folder / "part-0001.npz").write_bytes(b"nothing")
    with pytest.raises(
        ValueError, match=r"part-0001.npz: torn, or no part of a report \(\w+\); remove it, and it is played again"
    ):
        card_report.run(dataclasses.replace(config, output=str(folder)), Console(quiet=True))
    with pytest.raises(ValueError, match="holds a report with other seed; give another folder"):
        card_report.run(dataclasses.replace(config, output=str(folder), seed=1), Console(quiet=True))
