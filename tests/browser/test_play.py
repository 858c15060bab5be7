"""The page in a real browser: games of every kind played to their end, several windows, reloads, garbage, slow planners."""

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from tests.browser.chromium import chromium
from tests.browser.served import AWAITS, running, served

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("PICTURES")  # a folder for what the pages look like
SEEN = """({over: !document.getElementById('banner').hidden, shown: document.getElementById('shown').innerText,
    next: [...document.querySelectorAll('.next')].map((spot) => spot.dataset.spot),
    buttons: [...document.querySelectorAll('#buttons button:enabled')].map((button) => button.innerText),
    out: document.getElementById('status').innerText.startsWith('You are out')})"""
GAMES = [
    ("hex", "adh-4", "random"),
    ("stratego", "mini", "random"),
    ("hero_academy", "tiny", "random"),
    ("pommerman", "one_vs_one", "random"),
    ("clash", "toy", "random"),
]


@pytest.fixture(scope="module")
def running_browser():
    with chromium() as found:
        yield found


@pytest.fixture
def browser(running_browser):
    yield running_browser
    running_browser.close_tabs()


def shot(tab, name):
    if PICTURES:
        tab.picture(Path(PICTURES) / f"{name}.png")


def play(tab, rng, *, drags=False, most=2000):
    """Clicks until the game is over; gives the number of clicks."""
    clicks, ran = 0, False
    deadline = time.monotonic() + 400
    while not (seen := tab.js(SEEN))["over"]:
        assert time.monotonic() < deadline and clicks < most, seen
        if seen["next"] and (not seen["buttons"] or rng.random() < 0.7):
            spot = rng.choice(seen["next"])
            start = f'[data-spot="{spot}"]'
            if drags:
                tab.click(start)
                ends = tab.js("[...document.querySelectorAll('.next')].map((spot) => spot.dataset.spot)")
                ends = [end for end in ends if end[0] == "t"]
                tab.key("Escape")
                tab.drag(start, f'[data-spot="{rng.choice(ends)}"]' if ends else start)
            else:
                tab.click(start)
            clicks += 1
        elif seen["buttons"]:
            tab.js(f"document.querySelectorAll('#buttons button:enabled')[{rng.randrange(len(seen['buttons']))}]?.click()")
            clicks += 1
        elif seen["out"] and not ran:
            ran = True
            tab.js("document.getElementById('pace').value = -3; document.getElementById('pace').oninput()")
            tab.click("#run")
    return clicks


@pytest.mark.parametrize(("game", "mode", "opponent"), GAMES, ids=[game for game, *_ in GAMES])
def test_a_game_is_played_to_its_end_by_clicks(browser, game, mode, opponent):
    with served(game, "--mode", mode, "--agents", opponent) as (address, _):
        tab = browser.tab(address)
        tab.wait(AWAITS)
        rng = random.Random(5)
        clicks = play(tab, rng, drags=game == "clash")
        assert clicks >= 3 and tab.text("#banner")
        lines = tab.js("[...document.querySelectorAll('#log li')].map((line) => line.innerText)")
        assert any("you " in line and (game != "clash" or " at " in line.split("random ")[0]) for line in lines), (
            "cards were dragged"
        )
        assert tab.text("#status").startswith("The game is over")
        steps = int(tab.text("#shown").split("/")[1])
        assert steps == tab.js("document.querySelectorAll('#log li').length") >= 3
        shot(tab, f"{game}-end")
        tab.click('[data-to="first"]')
        tab.wait(f"document.getElementById('shown').innerText === '0 / {steps}'")
        tab.click("#fresh")
        tab.wait(f"document.getElementById('shown').innerText === '0 / 0' && {AWAITS}")
        shot(tab, f"{game}-start")
        assert tab.complaints == []


def test_keys_play_pommerman(browser):
    with served("pommerman", "--mode", "one_vs_one", "--agents", "random") as (address, _):
        tab = browser.tab(address)
        tab.wait(AWAITS)
        tab.key(" ")
        tab.wait("document.querySelectorAll('#log li').length === 1")
        assert "bomb" in tab.text("#log ol")
        tab.key("ArrowUp")  # up or down is open in every corner
        tab.key("ArrowDown")
        tab.wait("document.querySelectorAll('#log li').length === 2")
        tab.js("document.getElementById('run').click()")
        tab.wait("document.querySelectorAll('#log li').length >= 4")
        tab.js("document.getElementById('run').click()")
        tab.wait("document.getElementById('run').innerText.includes('run')")


def test_two_windows_a_reload_and_steps_back(browser):
    with served("hex", "--mode", "hex-4", "--agents", "path") as (address, _):
        first = browser.tab(address)
        first.wait(AWAITS)
        second = browser.tab(first.js("location.href"))
        other = browser.tab(address)
        for tab in (second, other):
            tab.wait(AWAITS)
        first.click('[data-spot="c5"]')
        for tab in (first, second):
            tab.wait("document.getElementById('shown').innerText === '2 / 2'")
        assert other.text("#shown") == "0 / 0" and other.js("location.hash") != first.js("location.hash")
        first.reload()
        first.wait("document.getElementById('shown')?.innerText === '2 / 2' && document.querySelectorAll('.next').length > 0")
        assert first.js("document.querySelectorAll('#log li').length") == 2
        second.click("#back")
        for tab in (first, second):
            tab.wait("document.getElementById('shown').innerText === '0 / 0'")
        for tab in (first, second, other):
            assert tab.complaints == []


def test_garbage_and_other_sites(browser):
    with served("hex", "--mode", "hex-3", "--agents", "path") as (address, _):
        tab = browser.tab(address)
        tab.wait(AWAITS)
        answers = tab.js(
            """new Promise((done) => {
                const told = [], wire = new WebSocket(`ws://${location.host}/socket`);
                const sent = ["garbage", "[]", '{"do": "act", "action": 999, "at": 0}', "x".repeat(1_000_000), new Uint8Array(9)];
                wire.onopen = () => sent.forEach((message) => wire.send(message));
                wire.onmessage = (event) => told.push(JSON.parse(event.data).type) === sent.length && done(told);
            })"""
        )
        assert answers == ["error"] * 5
        refused = "new Promise((done) => { const wire = new WebSocket('ws://%s/socket'); wire.onopen = () => done('open'); "
        refused += "wire.onerror = () => done('refused'); })"
        stranger = browser.tab("data:text/html,<p>another site</p>")
        assert stranger.js(refused % address.split("/")[2]) == "refused"
        tab.click('[data-spot="c4"]')
        tab.wait("document.getElementById('shown').innerText === '2 / 2'")


def test_a_slow_planner_and_the_end_of_the_server(browser):
    with served("hex", "--mode", "adh-5", "--agents", "pc_pimc:num_simulations=4000") as (address, process):
        tab = browser.tab(address)
        tab.wait(AWAITS)
        tab.click('[data-spot="c12"]')
        tab.wait("!!document.querySelector('#players .thinks')")
        shot(tab, "thinking")
        tab.reload()
        tab.wait("document.getElementById('shown')?.innerText === '1 / 1'", seconds=5)
        tab.click('[data-to="first"]')
        tab.wait("document.getElementById('shown').innerText === '0 / 1'", seconds=2)
        tab.click("#back")
        tab.wait(f"document.getElementById('shown').innerText === '0 / 0' && {AWAITS}", seconds=2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert process.stdout.read().strip() == "interrupted"
        tab.wait("!document.getElementById('error').hidden", seconds=5)
        assert "cannot be reached" in tab.text("#error")


def test_games_of_agents_are_watched_while_they_are_played(browser):
    match = ("match", "--game", "hex", "--mode", "hex-4", "--planner", "path", "--opponent", "random", "--games", "6")
    with running(*match, "--output", "", "--watch") as (address, process):
        while "the page stays" not in (line := process.stdout.readline()):
            assert line
        tab = browser.tab(address)
        tab.wait("document.querySelectorAll('#games button').length === 6")
        tab.js("document.getElementById('pace').value = -5; document.getElementById('pace').oninput()")
        tab.wait("!document.getElementById('banner').hidden")
        tab.click("#games button:nth-child(2)")
        tab.wait("document.querySelector('#games button.here')?.innerText.startsWith('1:')")
        tab.wait("document.querySelectorAll('#log li').length > 2")
        assert not tab.js("!!document.querySelector('.next')") and tab.complaints == []
        shot(tab, "watching")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130


def test_it_is_readable_in_the_dark(browser):
    with served("hex", "--mode", "hex-5", "--agents", "path") as (address, _):
        tab = browser.tab()
        tab.dark()
        tab.open(address)
        tab.wait(AWAITS)
        ground, ink = (tab.js(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
        shot(tab, "dark")
        assert sum(map(int, re.findall(r"\d+", ground)[:3])) < 150 < 500 < sum(map(int, re.findall(r"\d+", ink)[:3]))
