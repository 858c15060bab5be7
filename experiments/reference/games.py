"""Tables of the pages of games: variants, settings, actions, observations, planes, players, speed."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

import jaxgames
from experiments.benchmark import records, table
from experiments.benchmark.records import Row
from experiments.pages import NONE, markdown
from experiments.reference import planners
from experiments.reference.docstrings import told_of
from experiments.reference.words import cell, variants, written
from jaxgames.clash.constants import COLUMNS, HAND, ROWS
from jaxgames.hero_academy import actions as hero_actions
from jaxgames.hero_academy.cards import CARD_NAMES
from jaxgames.hero_academy.config import MOST_DEPLOY_SQUARES
from jaxgames.pommerman.constants import Move
from jaxgames.registration import VARIANT, encoder_of
from jaxgames.specs import kinds_of
from jaxgames.stratego import moves
from search import presets
from training.storage.provenance import CHECKOUT

_LONGEST = 40  # planes that are listed one by one
# Names of variants with a number, by game: their form, the one that is shown, and what else is to be said of them.
_NUMBERED = {
    "hero_academy": {"ap-N": ("ap-15", "; below 5 points also `turn_limit=500//N`")},
    "hex": {"adh-N": ("adh-5", "; `hex-N` and `cdh-N` are boards of N x N cells too")},
}
_TYPE = re.compile(r"^(u?int\d+|bool|float\d+) \[[^\]]*\]( each| per seat)?[,.]? ?")  # the column before says it


def texts(name: str, rows: Sequence[Row] | None = None) -> dict[str, str]:
    """Makes the tables of the page of a game.

    Args:
      name: of the game.
      rows: of benchmarks; None: those of the checkout.
    """
    game = jaxgames.make(name, jaxgames.registration(name).defaults.mode)
    return {
        "variants": _variants(name),
        "settings": _settings(game.config),  # type: ignore[attr-defined]
        "actions": markdown(("number", "what"), _ACTIONS[name](game)),
        "observation": _observation(game, jaxgames.registration(name).defaults.mode),
        "planes": "\n\n".join(_planes(game, encoder) for encoder in jaxgames.registration(name).encoders),
        "players": _players(game),
        "speed": _speed(name, records.read_all(CHECKOUT / "benchmarks") if rows is None else rows),
    }


def _variants(name: str) -> str:
    """What each variant is, by the settings in which it differs; of names with a number one is shown."""
    rows = []
    numbered = {form: jaxgames.make(name, one) for form, (one, _) in _NUMBERED.get(name, {}).items()}
    for variant, game in (variants(name) | numbered).items():
        one, more = _NUMBERED.get(name, {}).get(variant, ("", ""))
        usual = type(game.config)()
        fields = [field.name for field in dataclasses.fields(usual) if field.name not in ("name", "table")]
        differing = [field for field in fields if getattr(game.config, field) != getattr(usual, field)]
        settings = ", ".join(f"`{field}={written(getattr(game.config, field))}`" for field in differing)
        numbers = (game.num_players, game.num_actions, game.num_arms, game.max_steps)
        rows.append([f"`{variant}`{one and f', here `{one}`'}", *map(str, numbers), (settings or "as below") + more])
    return markdown(("variant", "players", "actions", "arms at most", "steps at most", "settings that differ"), rows)


def _settings(config: Any) -> str:
    """Tells of each field of a config that can be set: its name, its default, what it does."""
    told, kinds, usual = told_of(type(config)), kinds_of(config, VARIANT), type(config)()
    fields = {field.name: getattr(usual, field.name) for field in dataclasses.fields(config) if field.name in told}
    rows = [
        [f"`{name}`", f"`{written(value)}`", cell(told[name])]
        for name, value in fields.items()
        if name in kinds or isinstance(value, tuple)
    ]
    return markdown(("setting", "default", "what"), rows)


# --- actions -------------------------------------------------------------------------------------------------------------


def _of_pommerman(game: Any) -> Iterable[tuple[str, str]]:
    words = {Move.STOP: "stay, or wait", Move.BOMB: "lay a bomb where one stands"}
    for move in Move:
        yield str(int(move)), words.get(move, f"go {move.name.lower()}, and kick a bomb that lies there, with a kick")
    yield "`81 * move + 9 * first + second`", "in radio mode: the move, and two words 0 to 8"


def _of_hex(game: Any) -> Iterable[tuple[str, str]]:
    size = game.config.board_size
    yield f"0 to {size * size - 1}", f"a stone on cell `{size} * row + column`, on a board of {size} x {size} cells"
    yield str(game.pass_action), "pass: all that the player who is not to move can do"


def _of_hero_academy(game: Any) -> Iterable[tuple[str, str]]:
    layout = hero_actions.layout(game.config)
    words, bits = layout.words, 32
    offsets = f"{len(hero_actions.OFFSETS)} offsets (cells up to three steps away)"
    acts = f"a unit acts: `{bits * words} * offset + cell` for the cell on which it stands, and one of {offsets}, see below"
    yield f"0 to {bits * layout.trade - 1}", f"{acts}: it goes there, attacks, heals or takes what lies there"
    yield f"{bits * layout.trade} to {bits * layout.plain - 1}", "the ninja changes places with the own unit on a cell"
    first = bits * layout.plain
    for number, name in enumerate(CARD_NAMES[:5]):
        low = first + hero_actions.DEPLOY + MOST_DEPLOY_SQUARES * number
        yield f"{low} to {low + MOST_DEPLOY_SQUARES - 1}", f"the {name} enters on the first, second or third own deploy square"
    swap = first + hero_actions.SWAP_CARD
    yield f"{swap} to {swap + len(CARD_NAMES) - 1}", f"a card goes back into the deck: {', '.join(CARD_NAMES)}"
    yield str(first + hero_actions.END_TURN), "the turn ends"
    yield str(first + hero_actions.PASS), "pass: all that the player who is not to move can do"
    for number, name in enumerate(CARD_NAMES[5:]):
        low = first + bits + bits * words * number
        yield f"{low} to {low + bits * words - 1}", f"{name} on a cell, `{low} + cell`"
    columns, cells = game.config.grid.columns, game.config.num_cells
    where = f"`{columns} * row + column` from the upper left, on {cells // columns} x {columns} cells"
    yield f"cell 0 to {cells - 1}", f"{where}: b1, of column b and row 1, is 1, and a2 is {columns}"
    for first in range(0, len(hero_actions.OFFSETS), 6):
        group = hero_actions.OFFSETS[first : first + 6]
        yield f"offset {first} to {first + len(group) - 1}", f"so far right and down: {' '.join(map(str, group))}"


def _of_clash(game: Any) -> Iterable[tuple[str, str]]:
    tiles = ROWS * COLUMNS
    yield "0", "wait"
    for place in range(HAND):
        row = f"`{1 + place * tiles} + {COLUMNS} * row + column`"
        yield f"{1 + place * tiles} to {(place + 1) * tiles}", f"card {place + 1} of the hand on a tile of the own frame: {row}"


def _of_stratego(game: Any) -> Iterable[tuple[str, str]]:
    config, ways = game.config, moves.num_ways(game.config)
    rows, columns = config.rows, config.columns
    start = f"`{ways} * ({rows} * column + row) + way`, rows counted from the own side"
    yield f"0 to {moves.num_moves(config) - 1}", f"a piece goes from a cell some way, on {rows} x {columns} cells: {start}"
    begin = 0
    ends = (
        f"back by {rows - 1} to 1 cells",
        f"forward by 1 to {rows - 1}",
        f"{columns - 1} to 1 columns lower",
        f"1 to {columns - 1} higher",
    )
    for count, what in zip((rows - 1, rows - 1, columns - 1, columns - 1), ends, strict=True):
        yield f"way {begin} to {begin + count - 1}", what
        begin += count
    yield str(game.pass_action), "pass: all that the player who is not to move can do"


_ACTIONS: dict[str, Callable[[Any], Iterable[tuple[str, str]]]] = {
    "pommerman": _of_pommerman,
    "hex": _of_hex,
    "hero_academy": _of_hero_academy,
    "clash": _of_clash,
    "stratego": _of_stratego,
}


# --- what is seen --------------------------------------------------------------------------------------------------------


def _observation(game: Any, mode: str) -> str:
    """The fields of what `observe` gives, with what they take."""
    state = jax.eval_shape(game.init, jax.random.key(0))
    seen = jax.eval_shape(game.observe, state, jax.ShapeDtypeStruct((), jnp.int32))
    told = told_of(type(seen))
    rows = []
    for field in dataclasses.fields(seen):
        leaves = jax.tree.leaves(getattr(seen, field.name))
        kinds = dict.fromkeys(f"{leaf.dtype}{list(leaf.shape) or ''}" for leaf in leaves)
        count = f"{len(leaves)} x " if len(leaves) > 1 and len(kinds) == 1 else ""
        shape = count + ", ".join(kinds) if len(kinds) <= 3 else f"{len(leaves)} arrays"
        rows.append([f"`{field.name}`", shape if leaves else "nothing", cell(_TYPE.sub("", told[field.name])) or NONE])
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(seen))
    grid = getattr(game.config, "grid", None)
    board = f", {grid.rows} x {grid.columns} cells" if grid else ""
    variant = f"the variant `{mode}`{board}"
    head = f"`game.observe(state, player)` in {variant}: {size} bytes; a set of cells is a few 32-bit words."
    return f"{head}\n\n{markdown(('field', 'arrays', 'what'), rows)}"


def _planes(game: Any, name: str) -> str:
    """What an encoder shows."""
    encoder = encoder_of(game, name)
    rows = [[_span(first, count), cell(text)] for first, count, text in _runs(encoder.channels)]
    high, wide, planes = encoder.shape
    view = "made from the observation" if encoder.shows_observation else "made from the state, or from a drawn one"
    turned = f", {encoder.num_symmetries} symmetries" if encoder.num_symmetries > 1 else ""
    head = f"**`{name}`**: {high} x {wide} cells, {planes} planes, {encoder.num_outputs} outputs{turned}; {view}."
    return f"{head}\n\n{markdown(('plane', 'what it shows'), rows)}"


def _runs(channels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Planes one by one; where they are many, those together that have the same beginning: (first, count, text)."""
    if len(channels) <= _LONGEST:
        return [(number, 1, name) for number, name in enumerate(channels)]
    runs, first = [], 0
    for begin, group in itertools.groupby(channels, _beginning):
        found = [name.removeprefix(begin).strip(" :") for name in group]
        runs.append((first, len(found), f"{begin}: {', '.join(found)}" if found[0] else begin))
        first += len(found)
    return runs


def _beginning(name: str) -> str:
    found = re.match(r"card \d is|next card is|played|[a-z ]+:", name)
    return found[0].strip(" :") if found else name


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first} to {first + count - 1}"


# --- who plays, and how fast ---------------------------------------------------------------------------------------------


def _players(game: Any) -> str:
    """Bots and planners by name, with links to the pages of the planners."""
    entry = jaxgames.registration(game.name)
    rows = [[f"`{bot.name}`", "by rules"] for bot in entry.agents]
    of_page: dict[str, list[str]] = {}
    for variant in variants(game.name).values():
        for name in presets.planners_of(variant):
            found = of_page.setdefault(planners.page_of(variant, name), [])
            if name not in found:
                found.append(name)
    rows += [[", ".join(f"`{name}`" for name in found), f"[planner](../planners/{page}.md)"] for page, found in of_page.items()]
    if entry.encoders:
        rows.append(["`network:FOLDER`, `follower:FOLDER`", "[a network](../learning.md) without search"])
    return markdown(("name", "kind"), rows)


def _speed(name: str, rows: Sequence[Row]) -> str:
    """The newest rows of benchmarks of this game."""
    return table.brief([row for row in rows if row["case"].startswith(f"{name}/") and row["unit"] != "s"])
