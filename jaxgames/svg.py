"""What the pictures of all games share."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape


def plain(words: str) -> str:
    """Words as they may stand in XML: escaped, without control characters."""
    return escape("".join(letter for letter in str(words) if letter.isprintable()))


def fitted(words: str, size: float, width: float, letter: float) -> tuple[str, float]:
    """Makes a line stay within a width: smaller when long, and cut at three quarters of the size.

    Args:
      words: of the line.
      size: of its letters where there is room.
      width: that it may have.
      letter: width of a letter, as a share of its size.

    Returns:
      The words that are left, and the size of their letters.
    """
    smaller = max(0.75 * size, min(size, width / (letter * max(len(words), 1))))
    most = max(int(width / (letter * smaller)), 1)
    return words if len(words) <= most else words[: most - 1].rstrip() + "…", smaller


def names_of(names: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """Gives one name per seat, the usual ones where none are given.

    Raises:
      ValueError: not one name per seat.
    """
    if isinstance(names, str) or len(names) not in (0, len(usual)):
        raise ValueError(f"names={names!r}: must be {len(usual)} names, one per seat")
    return tuple(str(name) for name in names) or tuple(usual)


def shown_between(begin: float, end: float, seconds: float) -> str:
    """An animation that shows an element between two times of a film that lasts so many seconds and begins again."""
    changes = {0.0: "0", begin: "1"} | ({end: "0"} if end < seconds else {})
    times = ";".join(f"{time / seconds:.4f}" if time else "0" for time in changes)
    return (
        f"<animate attributeName='opacity' calcMode='discrete' dur='{seconds:.1f}s' repeatCount='indefinite' "
        f"values='{';'.join(changes.values())}' keyTimes='{times}'/>"
    )
