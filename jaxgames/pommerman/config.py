"""Which Pommerman: mode, board, limits. The presets are the configurations of the official environment."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from jaxgames import checks
from jaxgames.bitboard import Grid
from jaxgames.pommerman.constants import MAX_BLAST_STRENGTH, MAX_STEPS, VIEW_RADIUS, GameType

LONGEST = 32000  # steps that a State counts
MODES = ("ffa", "team", "radio", "one_vs_one")
_OPTIONAL = ("view_radius", "first_collapse")
# By players and board size: of boards with so many rigid walls, and no wood but what joins corners, at least 1 % are connected.
_MOST_RIGID = {4: {8: 38, 9: 48, 10: 60, 11: 70}, 2: {8: 34, 9: 36, 10: 42, 11: 48}}


@dataclasses.dataclass(frozen=True)
class PommermanConfig:
    """Settings of one Pommerman variant; checked when made.

    Attributes:
      mode: "ffa", "team" (seats 0 and 2 against 1 and 3), "radio" (team with two words per step) or "one_vs_one".
      board_size: side of the square board, in cells.
      num_rigid: rigid cells at the start; even, as walls come in mirrored pairs. There must be room for nearly every passage to
        be reached: boards are drawn until it is.
      num_wood: wooden cells at the start; even too.
      num_items: power-ups hidden under wood at the start.
      max_steps: the game is over after so many steps.
      view_radius: an agent sees the square of this radius around it; None: everything.
      max_blast_strength: cap of the blast strength (the official fogged configurations use 4, the view radius).
      first_collapse: step of the first collapse of a ring; None: the board never collapses.
      name: what the official environment calls this configuration, or "".
    """

    mode: str = "ffa"
    board_size: int = 11
    num_rigid: int = 36
    num_wood: int = 36
    num_items: int = 20
    max_steps: int = MAX_STEPS
    view_radius: int | None = None
    max_blast_strength: int = MAX_BLAST_STRENGTH
    first_collapse: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode={self.mode!r}: {checks.one_of(self.mode, MODES)}")
        for field in dataclasses.fields(self):
            value: Any = getattr(self, field.name)
            if field.name in _OPTIONAL and value is None:
                continue
            if field.name in ("mode", "name"):
                if not isinstance(value, str):
                    raise ValueError(f"{field.name}={value!r}: must be text")
                continue
            number = checks.as_integer(value)
            if number is None:
                raise ValueError(f"{field.name}={value!r}: must be an integer{' or None' if field.name in _OPTIONAL else ''}")
            object.__setattr__(self, field.name, number)
        if not 8 <= self.board_size <= 11:
            raise ValueError(f"board_size={self.board_size}: must be in 8..11")
        for name in ("num_rigid", "num_wood"):
            value = getattr(self, name)
            if value < 0 or value % 2:
                raise ValueError(f"{name}={value}: must be even and >= 0 (walls are placed in mirrored pairs)")
        if self.num_fixed_wood > self.num_wood:
            raise ValueError(f"num_wood={self.num_wood}: must be >= {self.num_fixed_wood}, the wood that joins the corners")
        room = self.num_wall_candidates
        if self.num_rigid + self.num_wood - self.num_fixed_wood > room:
            raise ValueError(f"num_rigid={self.num_rigid}, num_wood={self.num_wood}: the board has room for {room} free walls")
        most = _MOST_RIGID[self.num_players][self.board_size]
        if self.num_rigid > most:
            raise ValueError(f"num_rigid={self.num_rigid}: must be <= {most}, or hardly a board drawn has its passages connected")
        if not 0 <= self.num_items <= self.num_wood:
            raise ValueError(f"num_items={self.num_items}: must be in 0..num_wood={self.num_wood}")
        if not 1 <= self.max_steps <= LONGEST:
            raise ValueError(f"max_steps={self.max_steps}: must be in 1..{LONGEST}")
        if self.view_radius is not None and not 1 <= self.view_radius <= self.board_size:
            raise ValueError(f"view_radius={self.view_radius}: must be in 1..{self.board_size}, or None for no fog")
        if not 2 <= self.max_blast_strength <= MAX_BLAST_STRENGTH:
            raise ValueError(f"max_blast_strength={self.max_blast_strength}: must be in 2..{MAX_BLAST_STRENGTH}")
        if self.first_collapse is not None and not 0 < self.first_collapse < self.max_steps:
            raise ValueError(f"first_collapse={self.first_collapse}: must be in 1..max_steps - 1")

    @functools.cached_property
    def grid(self) -> Grid:
        """The board, for sets of its cells."""
        return Grid(self.board_size, self.board_size)

    @property
    def num_players(self) -> int:
        """Seats: two or four."""
        return 2 if self.mode == "one_vs_one" else 4

    @property
    def is_team(self) -> bool:
        """Whether seats 0 and 2 play against 1 and 3."""
        return self.mode in ("team", "radio")

    def enemies_of(self, seat: int) -> tuple[int, ...]:
        """All but the own seat, and in teams the partner's."""
        return tuple(other for other in range(self.num_players) if self.are_enemies(seat, other))

    def are_enemies(self, seat: Any, other: Any) -> Any:
        """Says whether two seats, whole numbers or arrays of them, play against each other."""
        return (seat - other) % 2 != 0 if self.is_team else seat != other

    def teammate_of(self, seat: Any) -> Any:
        """The other seat of a team, of a whole number or an array of them."""
        return (seat + 2) % self.num_players

    @property
    def has_messages(self) -> bool:
        """Whether every action says two words."""
        return self.mode == "radio"

    @property
    def game_type(self) -> GameType:
        """What the official environment calls the mode."""
        return GameType(MODES.index(self.mode) + 1)

    @property
    def corners(self) -> tuple[tuple[int, int], ...]:
        """Start cell (row, column) of each agent."""
        far = self.board_size - 2
        return ((1, 1), (far, far)) if self.num_players == 2 else ((1, 1), (far, 1), (far, far), (1, far))

    @property
    def num_fixed_wood(self) -> int:
        """Cells of wood that join the corners on every board."""
        return 4 * max(self.board_size - 8, 0) if self.num_players == 4 else 0

    @property
    def num_wall_candidates(self) -> int:
        """Cells off the main diagonal that are neither start, nor arm, nor fixed wood."""
        size = self.board_size
        taken = (2 + 4 + 4 + 4 + 4 if self.num_players == 4 else 8) + self.num_fixed_wood
        return size * size - size - taken

    @property
    def collapse_steps(self) -> tuple[int, ...]:
        """Step counts at which ring 0, 1, 2, ... turns into rigid walls."""
        if self.first_collapse is None:
            return ()
        return tuple(range(self.first_collapse, self.max_steps, max((self.max_steps - self.first_collapse) // 4, 1)))


def _preset(name: str, **settings: Any) -> PommermanConfig:
    return PommermanConfig(name=name, **settings)


_FOG = {"view_radius": VIEW_RADIUS, "max_blast_strength": VIEW_RADIUS}
_SMALL = {"board_size": 8, "num_rigid": 16, "num_wood": 16, "num_items": 10}

PRESETS: dict[str, PommermanConfig] = {
    "ffa": _preset("PommeFFACompetition-v0"),
    "ffa_collapse": _preset("PommeFFA-v1", first_collapse=500),
    "team": _preset("PommeTeamCompetition-v0", mode="team", **_FOG),
    "team_open": _preset("PommeTeam-v0", mode="team"),
    "team_collapse": _preset("PommeTeamCompetition-v1", mode="team", first_collapse=500, **_FOG),
    "radio": _preset("PommeRadioCompetition-v2", mode="radio", **_FOG),
    "one_vs_one": _preset("OneVsOne-v0", mode="one_vs_one", **_SMALL),
}


def preset(name: str) -> PommermanConfig:
    """Gives a configuration by its short name ("ffa", "team", ...) or its official one ("PommeFFACompetition-v0").

    Raises:
      ValueError: for an unknown name.
    """
    official = {"PommeFFACompetitionFast-v0": "ffa", "PommeFFAFast-v0": "ffa", "PommeTeamCompetitionFast-v0": "team"}
    official |= {"PommeTeamFast-v0": "team_open", "PommeRadio-v2": "radio"}
    official |= {config.name: short for short, config in PRESETS.items()}
    short = official.get(name, name)
    if short not in PRESETS:
        meant = checks.perhaps(name, [*PRESETS, *official])
        known = f"must be one of {', '.join(PRESETS)}, or an official name such as PommeTeam-v0"
        raise ValueError(f"mode={name!r}: {known}{meant and f' ({meant})'}")
    return PRESETS[short]
