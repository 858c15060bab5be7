"""Things that command lines ask for by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from jaxgames import checks


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str: ...


Thing = TypeVar("Thing", bound=Named)


def find(things: Sequence[Thing], kind: str, name: str) -> Thing:
    """Gives the thing of a name.

    Args:
      things: all that there are.
      kind: what they are called, for the message.
      name: of the one that is wanted.

    Raises:
      ValueError: there is none.
    """
    for thing in things:
        if thing.name == name:
            return thing
    raise ValueError(f"{kind}={name!r}: {checks.one_of(name, [thing.name for thing in things])}")
