"""Reads what an animated SVG of a Pommerman game shows at a moment, as a browser would, for tests to compare with recordings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from jaxgames.pommerman.constants import BOMB_LIFE

SVG = "{http://www.w3.org/2000/svg}"
CELL = 40


class Film:
    """A parsed animation. Its elements take, at each second, the values of their keyframes or else of their attributes."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.parents = {child: parent for parent in self.root.iter() for child in parent}
        self.rules = {}
        rule = r"@keyframes ([\w-]+)\{((?:[^{}]*\{[^{}]*\})*)\}\.\1\{animation:\1 ([\d.]+)s ([\w-]+) infinite\}"
        for name, body, seconds, timing in re.findall(rule, self.root[-1].text or ""):
            frames = []
            for at, declarations in re.findall(r"([^{}]+)\{([^{}]*)\}", body):
                values = dict(part.split(":", 1) for part in declarations.split(";") if part)
                frames += [(100.0 if place == "to" else float(place.rstrip("%")), values) for place in at.split(",")]
            self.rules[name] = (sorted(frames, key=lambda frame: frame[0]), float(seconds), timing)
        groups = self.root.findall(f"{SVG}g")
        self.board = next(group for group in groups if len(group) and group[0].get("fill") == "url(#floor)")
        self.windows = self.root.findall(f".//{SVG}svg")

    @property
    def seconds(self) -> float:
        return next(iter(self.rules.values()))[1]

    def value(self, element: ElementTree.Element, name: str, second: float) -> str | None:
        """The value of a property; numbers within it are interpolated where the rule says so."""
        rule = self.rules.get(element.get("class", ""))
        if rule is None:
            return element.get(name)
        frames, seconds, timing = rule
        delay = re.search(r"animation-delay:(-?[\d.]+)s", element.get("style", ""))
        at = (second - (float(delay[1]) if delay else 0)) % seconds / seconds * 100
        frames = [(place, values[name]) for place, values in frames if name in values]
        before = [frame for frame in frames if frame[0] <= at]
        after = [frame for frame in frames if frame[0] > at]
        if not before:
            return element.get(name)
        if timing != "linear" or not after or name in ("visibility", "fill"):
            return before[-1][1]
        share = (at - before[-1][0]) / (after[0][0] - before[-1][0])
        numbers = (re.findall(r"-?[\d.]+", frame[1]) for frame in (before[-1], after[0]))
        mixed = [float(a) * (1 - share) + float(b) * share for a, b in zip(*numbers, strict=True)]
        return " ".join(map(str, mixed))

    def visible(self, element: ElementTree.Element, second: float) -> bool:
        return self.value(element, "visibility", second) != "hidden"

    def place(self, element: ElementTree.Element, second: float) -> tuple[int, int]:
        """Row and column, wherever a use element or its group is put."""
        x, y = float(element.get("x")), float(element.get("y"))
        group = self.parents[element]
        if group is not self.board:
            dx, dy = re.findall(r"-?[\d.]+", self.value(group, "transform", second))
            x, y = x + float(dx), y + float(dy)
        place = (np.array([y, x]) - CELL / 2) / CELL
        assert np.abs(place - place.round()).max() < 0.1
        return tuple(int(axis) for axis in place.round())

    def copies(self, symbol: str, second: float) -> list[ElementTree.Element]:
        """The visible copies of symbols whose name matches."""
        uses = [use for use in self.board.iter(f"{SVG}use") if re.fullmatch(symbol, use.get("href"))]
        return [use for use in uses if self.visible(use, second)]

    def codes(self, second: float, size: int, *, hidden: bool) -> np.ndarray:
        """Walls and items as int [N, N] codes: those in the open, or those drawn faintly."""
        board = np.zeros((size, size), int)
        for use in self.copies(r"#c\d+", second):
            if (use.get("opacity") is not None) == hidden:
                assert board[self.place(use, second)] == 0
                board[self.place(use, second)] = int(use.get("href")[2:])
        return board

    def flames(self, second: float, size: int) -> np.ndarray:
        """int [N, N], life of the flame that is shown, -1 without."""
        board = np.full((size, size), -1)
        for path in self.board.findall(f"{SVG}path[@d]")[1:]:
            if self.visible(path, second):
                life = int(re.fullmatch(r"url\(#f(\d)\)", self.value(path, "fill", second))[1])
                for x, y in re.findall(r"M(\d+) (\d+)h40v40h-40z", path.get("d")):
                    assert board[int(y) // CELL, int(x) // CELL] == -1
                    board[int(y) // CELL, int(x) // CELL] = life
        return board

    def bombs(self, second: float) -> list[tuple[int, int, int, int]]:
        """Row, column, owner and life of every bomb."""
        found = []
        for use in self.copies(r"#b\d", second):
            burnt = float(self.value(use, "stroke-dashoffset", second))
            life = round((BOMB_LIFE - 1) * (1 - burnt / 100))
            found.append((*self.place(use, second), int(use.get("href")[2:]), life))
        return sorted(found)

    def agents(self, second: float) -> dict[int, tuple[int, int]]:
        """Row and column of those who are not fading."""
        found = {}
        for use in self.copies(r"#a\d", second):
            if float(self.value(use, "opacity", second) or 1) == 1:
                found[int(use.get("href")[2:])] = self.place(use, second)
        return found

    def crosses(self, second: float) -> list[tuple[int, int]]:
        return sorted(self.place(use, second) for use in self.copies("#x", second))

    def number(self, window: ElementTree.Element, second: float) -> str:
        """What a window on a strip of numbers shows."""
        shift = re.findall(r"-?[\d.]+", self.value(window[0], "transform", second) or "0")[-1]
        return "".join(line.text for line in window[0] if float(line.get("y")) == 15 - float(shift))
