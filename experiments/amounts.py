"""Amounts that add up: what dataclasses of numbers share."""

from __future__ import annotations

import dataclasses
from typing import Any, Self


class Amounts:
    """A dataclass whose fields are all numbers."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(_fields(self), _fields(other), strict=True)))

    def times(self, factor: float) -> Self:
        """All amounts times a factor."""
        return type(self)(*(factor * each for each in _fields(self)))


def _fields(amounts: Any) -> tuple[Any, ...]:
    return dataclasses.astuple(amounts)
