"""Markdown pages whose prose is written by hand and whose tables and numbers are filled in between marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from training.storage.files import write_alone

NONE = "–"
_OPEN = re.compile(r"<!-- (?:table|text) ")
_PLACE = re.compile(r"<!-- (table|text) ([\w-]+) -->.*?<!-- /\1 -->", flags=re.DOTALL)


def fill(page: Path, parts: Mapping[str, str], template: Path | None = None, *, others_stay: bool = False) -> None:
    """Writes a page again, with its parts between their marks; of several processes, one calls.

    Marks are `<!-- table NAME -->` and `<!-- /table -->`, each on a line of its own, or `<!-- text NAME -->` and `<!-- /text -->`
    within a line.

    Args:
      page: what to write.
      parts: Markdown by the name of its mark; an empty one is shown as "–".
      template: where the prose is read; None: from the page itself.
      others_stay: the page has other marks too, which stay as they are.

    Raises:
      ValueError: the marks are not those of the parts, or one is not closed.
      OSError: a file cannot be read or written.
    """
    source = template or page
    text = source.read_text(encoding="utf-8")
    marks = [match[2] for match in _PLACE.finditer(text)]
    if len(_OPEN.findall(text)) != len(marks):
        raise ValueError(f"{source}: has a mark <!-- table NAME --> or <!-- text NAME --> that is not closed")
    if wrong := sorted(set(parts) - set(marks) if others_stay else set(marks) ^ set(parts)):
        raise ValueError(f"{source}: must have a mark for each part and no other; differing: {', '.join(wrong)}")

    def filled(match: re.Match) -> str:
        kind, name = match.groups()
        if name not in parts:
            return match[0]
        end = "\n" if kind == "table" else ""
        return f"<!-- {kind} {name} -->{end}{parts[name] or NONE}{end}<!-- /{kind} -->"

    write_alone({page: _PLACE.sub(filled, text)})


def is_published(given: Path | None, ours: Path) -> bool:
    """Says whether a path is that of the checkout, which it is where none is given."""
    return given is None or given.resolve() == ours.resolve()


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Makes a table of texts; "" without rows."""
    head, rows = list(head), [list(row) for row in rows]
    lines = [head, ["---"] * len(head), *rows] if rows else []
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
