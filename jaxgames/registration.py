"""What the rest of the program must know of a game, said in one object, and the register of these objects.

A game that comes with this package has a line in `_GAMES`; a game of your own is added by `register`, or is found where it is
installed: by an entry point of its package in the group `jaxgames.games`, the game's name for its `Registration`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.encoder import Encoder
from jaxgames.game import Game
from jaxgames.specs import kinds_of, read_options

Config = TypeVar("Config", bound=Any)

_GAMES = {
    "pommerman": "jaxgames.pommerman.registration",
    "hex": "jaxgames.hex.registration",
    "hero_academy": "jaxgames.hero_academy.registration",
    "clash": "jaxgames.clash.registration",
    "stratego": "jaxgames.stratego.registration",
}
_ADDED: dict[str, Registration] = {}
ENTRY_POINTS = "jaxgames.games"
"""The group of entry points by which installed packages add games."""


@dataclasses.dataclass(frozen=True)
class NoSettings:
    """Of an agent that has none."""


@dataclasses.dataclass(frozen=True)
class AgentEntry:
    """A rule-based player of one game.

    Attributes:
      name: how command lines call it.
      settings: a frozen dataclass; its fields are what command lines may set.
      build: `build(game, settings) -> Agent`.
    """

    name: str
    settings: type
    build: Callable[[Any, Any], Agent]


@dataclasses.dataclass(frozen=True)
class Defaults:
    """What is played in a game where nothing else is said; agents are written as on command lines.

    Attributes:
      mode: its variant.
      planner, opponent: of a match.
      agents: of a match between named agents, one per player.
      pairs_mode: the variant of tournaments, which is for two players.
      tournament: agents.
    """

    mode: str
    planner: str
    opponent: str
    agents: tuple[str, ...]
    pairs_mode: str
    tournament: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Published:
    """What a paper prints of one player's games against copies of another, to be shown beside ours.

    Attributes:
      player, opponent: as on command lines.
      mode: the variant of the game.
      shares: of wins, draws and losses, in per cent.
      games: how many.
      compared: of the player, what must be the same as theirs: settings, and its "name".
      note: what must be said of the row.
    """

    player: str
    opponent: str
    mode: str
    shares: tuple[float, float, float]
    games: int
    compared: tuple[str, ...] = ("name",)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Registration:
    """A game as the rest of the program knows it. Its pictures are methods of the game, `draw` and `animate`.

    Attributes:
      name: of the game, as `Game.name`.
      make: `make(mode, **settings) -> Game`; mode None: the first of the variants. A variant that there is not is a ValueError
        that it raises; settings may be left out where there are none.
      variants: names of modes.
      defaults: what is played where nothing else is said.
      agents: its rule-based players.
      encoders: by name, `encoder(game) -> Encoder`; the first is the default. Without one there are no networks for the game.
      replay: "module:function" that replays recordings of a reference implementation, see `jaxgames.replay`; "" for none.
      replay_files: "module:function" for games whose recordings are no npz files: `replay(paths, shown=, out=, err=)` reads and
        tells them itself, and gives the exit code.
      page: "module:class" of its board on a page, see `jaxgames.page`; "": the one that every game has.
      published: rows of papers that matches are compared with.
      version: of the rules and of what players observe; it grows when either changes, and is part of the ids of `games`.
      listed: variants that `games` lists, where those are not all of `variants`.
    """

    name: str
    make: Callable[..., Any]
    variants: tuple[str, ...]
    defaults: Defaults
    agents: tuple[AgentEntry, ...] = ()
    encoders: Mapping[str, Callable[[Any], Encoder]] = dataclasses.field(default_factory=dict)
    replay: str = ""
    replay_files: str = ""
    page: str = ""
    published: tuple[Published, ...] = ()
    version: int = 1
    listed: tuple[str, ...] = ()


class Listed(NamedTuple):
    """A variant of a game.

    Attributes:
      id: "pommerman-ffa-v1": name, variant and version; `make` takes it too.
      name: of the game.
      mode: the variant.
      version: see `Registration.version`.
    """

    id: str
    name: str
    mode: str
    version: int


def bot(name: str, build: Callable[[Any], Agent]) -> AgentEntry:
    """Enters an agent without settings, `build(game) -> Agent`."""
    return AgentEntry(name, NoSettings, lambda game, settings: build(game))


def game_names() -> tuple[str, ...]:
    """Gives the names that `make` knows: of games that come with this package, then of added and of installed ones."""
    return tuple(dict.fromkeys((*_GAMES, *_ADDED, *_installed())))


@functools.cache
def _installed() -> Mapping[str, tuple[importlib.metadata.EntryPoint, ...]]:
    """The entry points by name; a name that two packages give has two."""
    found: dict[str, tuple[importlib.metadata.EntryPoint, ...]] = {}
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if entry.name.isidentifier() and entry not in found.get(entry.name, ()):
            found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def games() -> tuple[Listed, ...]:
    """Lists all games and their variants, with versioned ids; of an installed game that does not load it only warns."""
    found: list[Listed] = []
    for name in game_names():
        try:
            found += variants_of(name)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)
    return tuple(found)


def variants_of(name: str) -> tuple[Listed, ...]:
    """Lists the variants of one game.

    Raises:
      ValueError: as for `registration`.
    """
    entry = registration(name)
    return tuple(Listed(id_of(name, mode), name, mode, entry.version) for mode in entry.listed or entry.variants)


def id_of(name: str, mode: str) -> str:
    """Gives the versioned id of a variant, such as "pommerman-ffa-v1"."""
    return f"{name}-{mode}-v{registration(name).version}"


def read_id(text: str) -> tuple[str, str]:
    """Takes an id apart, into the name of a game and a variant.

    Raises:
      ValueError: it is no id, or of a game or version that there is not.
    """
    found = re.fullmatch(r"([^-]+)-(.+)-v(\d+)", text)
    if found is None:
        ids = [entry.id for entry in games()]
        closest = next((one for one in ids if one.startswith(text)), ids[0])
        raise ValueError(f"id={text!r}: must be a name, a variant and a version, such as {closest}")
    name, mode, version = found.groups()
    entry = registration(name)
    if int(version) != entry.version:
        raise ValueError(f"id={text!r}: {name} is at version {entry.version}, so {id_of(name, mode)} is what there is")
    return name, mode


def name_and_mode(game: str, mode: str) -> tuple[str, str]:
    """Lets an id stand for the name of a game where no variant is given; gives name and variant.

    Raises:
      ValueError: as for `read_id`; or there is an id and a variant too.
    """
    if "-" not in game:
        return game, mode
    if mode and game.replace("-", "_") in game_names():
        registration(game)  # a slip, which is answered with the names
    found = read_id(game)
    if mode:
        raise ValueError(f"mode={mode!r}: game={game!r} is an id, which names its variant; leave one of them out")
    return found


def with_usual_mode(game: str, mode: str) -> tuple[str, str]:
    """Gives name and variant as `name_and_mode` does, and where no variant is given the game's usual one.

    Raises:
      ValueError: as for `name_and_mode`; or no variant is given, and there is no such game.
    """
    name, mode = name_and_mode(game, mode)
    return name, mode or registration(name).defaults.mode


def named(config: Config) -> Config:
    """Gives a dataclass with fields `game` and `mode` as `with_usual_mode` has them.

    Raises:
      ValueError: as for `with_usual_mode`.
    """
    game, mode = with_usual_mode(config.game, config.mode)
    return dataclasses.replace(config, game=game, mode=mode)


def registration(name: str) -> Registration:
    """Looks up what is known of a game.

    Args:
      name: of the game, such as "hex", without a variant.

    Raises:
      ValueError: there is none of this name, or the package that brings it does not load.
    """
    if name in _ADDED:
        return _ADDED[name]
    if name in _GAMES:
        found: Registration = importlib.import_module(_GAMES[name]).REGISTRATION
        return found
    if name not in _installed():
        raise ValueError(f"game={name!r}: {checks.one_of(name, game_names())}; jaxgames.register adds one of your own")
    _add(_loaded(name, _installed()[name]))
    return _ADDED[name]


def registered(name: str) -> Registration | None:
    """Looks up what is known of a game, as `registration` does; None: it is a game of one's own that is in no register."""
    return registration(name) if name in game_names() else None


def _loaded(name: str, entry_points: Sequence[importlib.metadata.EntryPoint]) -> Registration:
    if len(entry_points) > 1:
        raise ValueError(f"game={name!r}: several packages bring it, by {' and '.join(one.value for one in entry_points)}")
    where = f"game={name!r}: entry point {entry_points[0].value!r}"
    try:
        entry = entry_points[0].load()
    except Exception as error:  # a package of others may fail in any way
        raise ValueError(f"{where} does not load: {type(error).__name__}: {error}") from error
    if not isinstance(entry, Registration):
        raise ValueError(f"{where} is {entry!r:.80}: must be a Registration")
    if entry.name != name:
        raise ValueError(f"{where} is the Registration of {entry.name!r}: the names must be the same")
    return entry


def register(entry: Registration) -> None:
    """Adds a game of your own; `make` and everything that takes the name of a game knows it from then on, in this process.

    Args:
      entry: what there is to know of it. What its `make` gives has this name, or is a game that is known already, whose agents
        and encoders it then has.

    Raises:
      ValueError: it is none; there is another game of this name, or a name that nothing could be called by; there are no variants
        or not such words, or the usual one, that of pairs or one of those that are listed cannot be made.
    """
    if not isinstance(entry, Registration):
        raise ValueError(f"entry={entry!r:.80}: must be a Registration")
    taken = entry.name in _GAMES or _ADDED.get(entry.name, entry) != entry
    if taken or (entry.name in _installed() and registration(entry.name) != entry):
        raise ValueError(f"name={entry.name!r}: there is a game of this name")
    _add(entry)


def _add(entry: Registration) -> None:
    if not entry.name.isidentifier():
        raise ValueError(f"name={entry.name!r}: must be letters, digits and underscores")
    if not entry.variants:
        raise ValueError(f"name={entry.name!r}: has no variants; must have at least one")
    _check_words(entry)
    usual = [("mode", entry.defaults.mode), ("pairs_mode", entry.defaults.pairs_mode)]
    for field, mode in (*usual, *(("listed", mode) for mode in entry.listed)):
        try:
            made = _made(entry, mode.partition(":")[0])
        except ValueError as error:
            raise ValueError(f"name={entry.name!r}: {field}={mode!r} cannot be made: {error}") from error
        called = getattr(made, "name", None)
        if called not in (entry.name, *game_names()):
            made_is = f"{field}={mode!r} makes a game of name {called!r}"
            raise ValueError(f"name={entry.name!r}: {made_is}, must be that or a known game's")
    _ADDED[entry.name] = entry


def _check_words(entry: Registration) -> None:
    """Checks what ids are made of: variants and the version."""
    for field in ("variants", "listed"):
        modes: Any = getattr(entry, field)
        if not isinstance(modes, tuple | list):  # such as a word, where a comma was forgotten
            raise ValueError(f"name={entry.name!r}: {field}={modes!r}, must be a tuple of words such as ('standard',)")
        for mode in modes:
            if not isinstance(mode, str) or not mode or ":" in mode or modes.count(mode) > 1:
                raise ValueError(f"name={entry.name!r}: {field} have {mode!r}, must be different words without a colon")
    if (checks.as_integer(entry.version) or 0) < 1:
        raise ValueError(f"name={entry.name!r}: version={entry.version!r}, must be a whole number >= 1")


RANDOM = "random"  # the agent that every game has
VARIANT = ("mode",)  # fields of configs that the variant says, and nobody sets beside it


def make(name: str, mode: str | None = None, **settings: Any) -> Game:
    """Makes a game by name.

    Args:
      name: one of `game_names()`; or alone, an id as `games` lists them.
      mode: which variant, a name that the game knows; None: its standard one. After a colon, settings as below in the form of
        command lines: "hidden:action_points=15,end_turn_early=1".
      **settings: fields of the game's config that differ from the variant's.

    Raises:
      ValueError: for a name, mode or setting that does not exist, or an id beside a mode.
    """
    _is_text("name", name)
    _is_text("mode", "" if mode is None else mode)
    if "-" in name:
        name, mode = name_and_mode(name, mode or "")
    entry = registration(name)
    variant, _, text = mode.partition(":") if mode is not None else (None, "", "")
    game: Game = _made(entry, variant, **settings)
    if not text:
        return game
    config = getattr(game, "config", None)
    kinds = kinds_of(config, VARIANT) if dataclasses.is_dataclass(config) else {}
    if not kinds:
        raise ValueError(f"mode={mode!r}: game {name!r} has no settings, so nothing can stand after the colon")
    given: Game = _made(entry, variant, **read_options(f"mode={mode!r}", text, kinds, f"{next(iter(kinds))}=3") | settings)
    return given


def _made(entry: Registration, variant: str | None, /, **settings: Any) -> Any:
    """Calls the `make` of a registration; arguments that it does not take are told."""
    try:
        inspect.signature(entry.make).bind(variant, **settings)
    except TypeError as error:
        if settings:
            given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
            raise ValueError(f"{given}: game {entry.name!r} takes no such settings ({error})") from None
        raise ValueError(f"make of game {entry.name!r}: {error}; must be make(mode, **settings)") from None
    return entry.make(variant, **settings)


def _is_text(name: str, given: Any) -> None:
    if not isinstance(given, str):
        raise ValueError(f"{name}={given!r}: must be text, as in jaxgames.make('hex', 'hex-5')")


def usual_opponent(game: Game) -> str:
    """Gives the name of the agent that a game is played against where nothing else is said."""
    known = registered(game.name)
    return known.defaults.opponent if known else RANDOM


def encoder_of(game: Game, name: str | None = None) -> Encoder:
    """Makes an encoder of a game: what a network sees of it.

    Args:
      game: the game.
      name: of one of those that its registration names; None: the first of them.

    Raises:
      ValueError: there is none.
    """
    encoders = registration(game.name).encoders
    if not encoders:
        raise ValueError(f"game={game.name!r}: has no encoder, so there are no networks for it")
    if name is not None and name not in encoders:
        raise ValueError(f"encoder={name!r}: {checks.one_of(name, encoders)}")
    return encoders[next(iter(encoders)) if name is None else name](game)
