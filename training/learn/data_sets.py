"""Samples in the format of PommerLearn's data sets: one zarr folder with arrays of samples, and attributes about their episodes.

    obs  float32 [N, 23, 11, 11]   planes, see `jaxgames.pommerman.pommerlearn_planes`
    act  int8 [N]                  what was done
    pol  float32 [N, 6]            what the policy is taught
    q    float32 [N, 6]            the search's value of each action, NaN where it is not known
    val  float32 [N]               the search's value, 0 where there was none

Samples lie in the order of agents' episodes. The attributes say of each of these whose and of which episode it is and how long
(AgentIds, AgentEpisode, AgentSteps), and of each episode how it began, what was done and how it ended (Episode...); arrays may
be longer than the samples, whose number is the attribute Steps. Files of act, q and val that would hold the fill value alone
may be missing: the library that PommerLearn writes with leaves them out, and so does zarr. Where PommerLearn has filled a data
set in the middle of a game, the next one begins with the other agents of that game. It does not tell the end of it again: their
AgentEpisode is -1. Data sets hold free-for-all alone, which EpisodeGameMode says as 0. (Source: PommerLearn, Weil et al.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxgames.pommerman import Pommerman
from jaxgames.pommerman.pommerlearn_planes import as_published
from jaxgames.pommerman.pommerlearn_samples import ENCODER, MOVES, PLANES, SEATS, views_of
from training.learn.expert_iteration import Samples
from training.learn.self_play import UNFINISHED
from training.storage import zarr_folders
from training.storage.zarr_folders import SUFFIX, Folder, Form

FORMS = {
    "obs": Form("float32", PLANES),
    "act": Form("int8", may_be_sparse=True),  # zeros where somebody stands still
    "pol": Form("float32", (MOVES,)),
    "q": Form("float32", (MOVES,), may_be_sparse=True),  # known of no action where nothing was searched
    "val": Form("float32", may_be_sparse=True),  # zeros in demonstrations
}
_OF_AGENTS = ("AgentIds", "AgentSteps", "AgentEpisode")
_OF_EPISODES = ("EpisodeWinner", "EpisodeDraw", "EpisodeSteps", "EpisodeDead")
_MODE = "EpisodeGameMode"  # may be missing
_UNTOLD = -1  # the episode of agents whose game's end is told in the data set before


def files_of(folders: Sequence[str]) -> list[Path]:
    """Gives the data sets that are named, or lie in the folders that are named, those of a folder in order of their numbers.

    Raises:
      ValueError: a folder is not there, or there is no data set in it.
    """
    found: list[Path] = []
    for name in folders:
        path = Path(name)
        inside = zarr_folders.inside(path)
        if not path.is_dir():
            raise ValueError(f"data set {path}: there is no such folder")
        if not inside and not zarr_folders.is_group(path):
            raise ValueError(f"data set {path}: is no zarr group, and no folder with data sets (*{SUFFIX}) in it")
        found += inside or [path]
    return found


def write(
    path: Path,
    planes: Callable[[int, int], np.ndarray],
    act: np.ndarray,
    pol: np.ndarray,
    q: np.ndarray,
    val: np.ndarray,
    attributes: dict[str, Any],
) -> None:
    """Writes a data set; it appears when all of it is there.

    Args:
      path: is not there yet.
      planes: `planes(start, stop)`, the encoder's, float32 [., H, W, 23].
      act: int8 [N].
      pol: float32 [N, 6].
      q: float32 [N, 6].
      val: float32 [N].
      attributes: of agents and episodes; Steps is added.

    Raises:
      ValueError: zarr is not installed.
      OSError: it cannot be written.
    """

    def read(start: int, stop: int) -> dict[str, np.ndarray]:
        part = slice(start, stop)
        return {"obs": as_published(planes(start, stop)), "act": act[part], "pol": pol[part], "q": q[part], "val": val[part]}

    zarr_folders.write(path, FORMS, len(act), read, {**attributes, "Steps": len(act)})


class DataSet:
    """A data set that was opened; samples are read and checked as they are asked for.

    Attributes:
      path: where.
      steps: samples, N.
      agents: episodes of agents.
      wins, draws: of these, as far as the data set tells how they ended.
    """

    def __init__(self, path: Path, game: Pommerman) -> None:
        """Opens it, and checks all but the values of samples.

        Raises:
          ValueError: zarr is not installed, or the data set is torn or of another form: one line that says what is wrong.
        """
        self._game = game
        self._folder = Folder(path, FORMS)
        self.path, attributes = path, self._folder.attributes
        self.steps = self._number(attributes, "Steps")
        for name, length in self._folder.lengths.items():
            if length < self.steps:
                raise self._folder.error(f"has {self.steps} samples by its attribute Steps, and {name} has {length} rows")
        self._folder.check_chunks(self.steps)
        of_agents = {name: self._numbers(attributes, name) for name in _OF_AGENTS}
        told = [*_OF_EPISODES, *([_MODE] if _MODE in attributes else [])]
        of_episodes = {name: self._numbers(attributes, name) for name in told}
        self._check_ranges(of_agents, of_episodes)
        seats, lengths, episodes = (of_agents[name] for name in _OF_AGENTS)
        self._check_steps(lengths, episodes, of_episodes["EpisodeSteps"])
        self.agents = len(seats)
        result = _results(seats, lengths, episodes, of_episodes)
        self.wins, self.draws = int((result == 1).sum()), int((result == 0).sum())
        until_end = np.concatenate([np.arange(length, 0, -1) for length in lengths]) if len(lengths) else np.zeros(0, int)
        self._left = until_end[: self.steps].astype(np.int16)
        self._seat, self._result = (np.repeat(values, lengths)[: self.steps] for values in (seats, result))

    def read(self, start: int, stop: int) -> Samples:
        """Gives samples `start` to `stop - 1`; the result is `UNFINISHED` where the data set does not tell it.

        Raises:
          ValueError: a file is damaged, a number is none or not possible, or planes show what no agent can see.
        """
        rows = self._folder.read(start, stop)
        for name in ("obs", "pol", "val"):
            self._refuse(~np.isfinite(rows[name]), start, f"{name} is no number")
        policy = rows["pol"]
        self._refuse(((policy < 0) | (np.abs(policy.sum(-1, keepdims=True) - 1) > 1e-2)), start, "pol is no distribution")
        self._refuse(np.abs(rows["val"]) > 1 + 1e-3, start, "val is outside -1..1")
        self._refuse((rows["act"] < 0) | (rows["act"] >= MOVES), start, f"act is outside 0..{MOVES - 1}")
        view, wrong = views_of(self._game, rows["obs"], self._seat[start:stop], zarr_folders.CHUNK)
        if wrong:
            raise self._folder.error(f"sample {start + wrong.row}: {wrong.told}: these are no planes of the encoder {ENCODER}")
        part = slice(start, stop)
        return Samples(view, policy, rows["val"], self._result[part].astype(np.int8), self._left[part])

    def _refuse(self, wrong: np.ndarray, start: int, told: str) -> None:
        if wrong.any():
            raise self._folder.error(f"sample {start + int(np.argwhere(wrong)[0][0])}: {told}")

    def _entry(self, attributes: dict[str, Any], name: str) -> Any:
        if name not in attributes:
            raise self._folder.error(f"the attribute {name} is missing")
        return attributes[name]

    def _number(self, attributes: dict[str, Any], name: str) -> int:
        value = self._entry(attributes, name)
        if not isinstance(value, int) or value < 1:
            raise self._folder.error(f"{name}={value!r}: must be a whole number >= 1")
        return value

    def _numbers(self, attributes: dict[str, Any], name: str) -> np.ndarray:
        value = self._entry(attributes, name)
        shape = (SEATS,) if name == "EpisodeDead" else ()
        try:
            given = np.asarray(value)
            if given.dtype.kind not in "bui" and not (given.dtype.kind == "f" and (given == np.floor(given)).all()):
                raise TypeError
            if given.size and given.shape != (len(value), *shape):
                raise TypeError
            numbers = np.asarray(value, np.int64).reshape(len(value), *shape)
        except (TypeError, ValueError, OverflowError):
            each = f"{SEATS} flags" if shape else "a whole number"
            raise self._folder.error(f"{name}: must be a list with {each} per entry") from None
        return numbers

    def _check_ranges(self, of_agents: dict[str, np.ndarray], of_episodes: dict[str, np.ndarray]) -> None:
        error = self._folder.error
        for group in (of_agents, of_episodes):
            counts = {name: len(values) for name, values in group.items()}
            if len(set(counts.values())) > 1:
                raise error("attributes of different lengths: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
        modes, episodes = of_episodes.get(_MODE, np.zeros(0, int)), of_agents["AgentEpisode"]
        if modes.any():
            raise error(f"{_MODE}: must be 0, free-for-all, and one is {modes[modes != 0][0]}")
        number = len(of_episodes["EpisodeSteps"])
        for name, values, low, high in (
            ("AgentIds", of_agents["AgentIds"], 0, SEATS - 1),
            ("AgentEpisode", episodes[~_untold(episodes)], 0, number - 1),
            ("EpisodeWinner", of_episodes["EpisodeWinner"], -1, SEATS - 1),
            ("EpisodeDraw", of_episodes["EpisodeDraw"], 0, 1),
            ("EpisodeDead", of_episodes["EpisodeDead"], 0, 1),
        ):
            outside = values[(values < low) | (values > high)]
            if len(outside) and high < low:
                raise error(f"{name}: there are no episodes, and one is {outside[0]}")
            if len(outside):
                untold = name == "AgentEpisode" and outside[0] == _UNTOLD
                also = f" ({_UNTOLD} may stand for the first {SEATS} alone)" if untold else ""
                raise error(f"{name}: must be in {low}..{high}, and one is {outside[0]}{also}")

    def _check_steps(self, lengths: np.ndarray, episodes: np.ndarray, of_episodes: np.ndarray) -> None:
        """Checks steps of agents int [N] in episodes int [N] that have so many steps."""
        error = self._folder.error
        if len(lengths) and lengths.min() < 1:
            raise error(f"AgentSteps: must be >= 1, and one is {lengths.min()}")
        longest = self._game.config.max_steps
        if len(lengths) and lengths.max() > longest:
            raise error(f"AgentSteps: must be <= {longest}, as the game's max_steps, and one is {lengths.max()}")
        for agent in np.flatnonzero(episodes != _UNTOLD):
            if lengths[agent] > of_episodes[episodes[agent]]:
                steps = of_episodes[episodes[agent]]
                raise error(f"AgentSteps: entry {agent} is {lengths[agent]}, and by EpisodeSteps its episode has {steps} steps")
        # Where a data set is full, the last episode goes on beyond it.
        if not lengths[:-1].sum() < self.steps <= lengths.sum():
            raise error(f"has {self.steps} samples by its attribute Steps, and its AgentSteps add up to {lengths.sum()}")


def _untold(episodes: np.ndarray) -> np.ndarray:
    """Which agents' episodes are of a game that began in the data set before: bool [N], the first ones, of one game at most."""
    return np.logical_and.accumulate(episodes == _UNTOLD) & (np.arange(len(episodes)) < SEATS)


def _results(seats: np.ndarray, lengths: np.ndarray, of_agents: np.ndarray, of_episodes: dict[str, np.ndarray]) -> np.ndarray:
    """How each agent's episode ended.

    1: it won; 0: a draw in which it lived until the last step, or no end; else -1 if it is dead; `UNFINISHED` where the end is
    not told. `of_agents` int [N] says of which episode each is.
    """
    told = of_agents != _UNTOLD
    seats, lengths = seats[told], lengths[told]
    episodes = {name: values[of_agents[told]] for name, values in of_episodes.items()}
    won = episodes["EpisodeWinner"] == seats
    drawn = (episodes["EpisodeDraw"] != 0) & (lengths == episodes["EpisodeSteps"])
    dead = np.take_along_axis(episodes["EpisodeDead"], seats[:, None], 1)[:, 0] != 0
    results = np.full(len(told), UNFINISHED)
    results[told] = np.where(won, 1, np.where(dead & ~drawn, -1, 0))
    return results
