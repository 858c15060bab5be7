"""How long the page takes to answer a click, thinking not counted: `python -m tests.browser.latency [GAME:MODE ...]`.

From the press of the mouse until the new picture is in the page, as the page's own clock tells it, and until it has been painted.
"""

from __future__ import annotations

import random
import statistics
import sys

from tests.browser.chromium import chromium
from tests.browser.served import AWAITS, served

USUAL = (
    "hex:hex-11",
    "hex:adh-5",
    "stratego:barrage",
    "stratego:stratego",
    "hero_academy:standard",
    "pommerman:ffa",
    "clash:beginner",
)
CLICKS = 24
WATCH = """window.times = []; (() => {
    let pressed = 0;
    const press = () => (pressed = performance.now());
    addEventListener('pointerdown', press, true);
    addEventListener('click', (event) => event.target.closest('button') && press(), true);
    new MutationObserver(() => {
        if (!pressed) return;
        const drawn = performance.now() - pressed, start = pressed;
        pressed = 0;
        requestAnimationFrame(() => setTimeout(() => times.push([drawn, performance.now() - start])));
    }).observe(document.getElementById('board'), {childList: true});
})()"""
READY = "({next: [...document.querySelectorAll('.next')].map((spot) => spot.dataset.spot), "
READY += "buttons: document.querySelectorAll('#buttons button').length, over: !document.getElementById('banner').hidden})"


def measure(browser, name: str) -> str:
    """Plays some moves of a game against random players, and tells the median and the longest of the times."""
    game, mode = name.split(":")
    rng = random.Random(1)
    with served(game, "--mode", mode, "--agents", "random") as (address, _):
        tab = browser.tab(address)
        tab.wait(AWAITS, seconds=400)
        tab.js(WATCH)
        for _ in range(20 * CLICKS):
            seen = tab.js(READY)
            if tab.js("times.length") > CLICKS:
                break
            if seen["over"]:
                tab.click("#fresh")
                tab.wait(AWAITS)
            elif seen["next"]:
                tab.click(f'[data-spot="{rng.choice(seen["next"])}"]')
            elif seen["buttons"]:
                tab.click("#buttons button")
            tab.wait(f"{AWAITS} || !document.getElementById('banner').hidden", seconds=60)
        drawn, painted = zip(*tab.js("times")[1:], strict=True)
    told = [f"{statistics.median(each):.0f} ms (longest {max(each):.0f})" for each in (drawn, painted)]
    return f"{name}: picture after {told[0]}, painted after {told[1]}, {len(drawn)} clicks"


def main() -> None:
    """Measures the games named on the command line, or the usual ones."""
    with chromium() as browser:
        for name in sys.argv[1:] or USUAL:
            print(measure(browser, name), flush=True)
            browser.close_tabs()


if __name__ == "__main__":
    main()
