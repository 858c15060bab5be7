"""The job that writes data sets: games of rule-based players, or of a search against them, as samples to learn from."""

from __future__ import annotations

import dataclasses
import functools
import time
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jax.sharding import Mesh
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from jaxgames import checks, processes
from jaxgames.pommerman.pommerlearn_samples import ENCODER
from jaxgames.registration import usual_opponent
from search.planner import as_agent
from training.jobs import job
from training.jobs.folder import check_settings, write_settings
from training.learn import data_sets
from training.learn.expert_iteration import shown_moves
from training.learn.recording import Recorder, Recording
from training.learn.self_play import SelfPlay
from training.learn.targets import Targets
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, memory
from training.play.lanes import Pool
from training.storage import zarr_folders
from training.storage.files import output_folder
from training.storage.json_files import read_json
from training.storage.named_files import digests
from training.storage.owner import SETTINGS, check_owner


@dataclasses.dataclass(frozen=True)
class WriteConfig:
    """Plays free-for-all in Pommerman and writes samples in the format of PommerLearn, data_0.zr, data_1.zr and so on.

    Called again with the same settings, it writes those that are missing. `train-expert --learn.source data_sets` learns of them.

    Attributes:
      player: the rule-based player of all (other) seats; "": the game's usual opponent.
      planner: a search that plays one seat, in every game another corner, and whose samples are written, such as
        sp_mcts:weights=FOLDER,root=visible; "": the moves of all rule-based players are.
      samples: of each data set; the last game is played to its end.
      data_sets: how many.
      lanes: games at once, over all devices.
      seed: of everything.
      output: folder of the data sets.
    """

    JOB: ClassVar[str] = "write-data-sets"
    FREE: ClassVar[frozenset[str]] = frozenset({"data_sets", "output"})  # may change when more are written
    READ_AT_START: ClassVar[frozenset[str]] = frozenset()

    player: str = "simple_unbiased"
    planner: str = ""
    samples: int = 100_000
    data_sets: int = 1
    lanes: int = 128
    seed: int = 0
    output: str = "output/data_sets"

    def __post_init__(self) -> None:
        checks.at_least(1, self, "samples", "data_sets", "lanes")
        checks.seed(self)
        checks.folder(self)


def run(config: WriteConfig, console: Console | None = None) -> list[Path]:
    """Writes the data sets that are not there yet.

    Returns:
      All of them.

    Raises:
      ValueError: zarr is not installed, there is no such player, or the folder has data sets of other settings or
        files of another job.
      OSError: the folder cannot be written, or is in use.
    """
    zarr_folders.check_installed()
    console = console or Console()
    with output_folder(config.output) as folder:
        assert folder is not None
        check_owner(config, folder)
        return _write_all(config, folder, console)


def _write_all(config: WriteConfig, folder: Path, console: Console) -> list[Path]:
    paths = [folder / f"data_{number}{zarr_folders.SUFFIX}" for number in range(config.data_sets)]
    settings = folder / SETTINGS
    if processes.leads():
        zarr_folders.remove_unfinished(folder)
    who = policy_value.make(PolicyValueConfig("pommerman", "ffa", ENCODER, "compact"))
    files = digests(config)
    network = agents.digest(config.planner, who.game) if config.planner else ""
    if zarr_folders.inside(folder):  # else there is nothing to which other settings would not belong
        check_settings(config, settings, files)
        _check_network(config, network, settings)
    mesh = job.mesh_for(console, lanes=config.lanes)
    checks.split(mesh.devices.size, config, "lanes")
    recorder, params = make_recorder(config, who, mesh)
    memory.check(who.game, [as_agent(recorder.planner)], config.lanes, setting="lanes", what="the games")
    for number, path in enumerate(paths):
        if processes.on_first(path.exists):
            console.print(f"{path} is there", markup=False, highlight=False, soft_wrap=True)
            continue
        started = time.perf_counter()
        columns = (TextColumn(path.name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(path.name, total=config.samples)
            key = jax.random.fold_in(jax.random.key(config.seed), number)
            found = recorder.record(key, params, config.samples, functools.partial(_show, bar, task))
        write_settings(config, folder, files, network_digest=network)
        processes.agree(functools.partial(write_recording, path, found, who) if processes.leads() else lambda: None)
        told = f"{path}: {len(found.actions)} samples of {len(found.attributes['EpisodeSteps'])} games"
        console.print(f"{told}, {time.perf_counter() - started:.0f} s", markup=False, highlight=False, soft_wrap=True)
    return paths


def _check_network(config: WriteConfig, network: str, settings: Path) -> None:
    """Raises a ValueError where another network has played what is there, also one that comes with this package."""
    if settings.exists() and read_json(settings, "settings").get("network_digest", network) != network:
        told = f"its network has changed since it wrote into {settings.parent}; choose another output"
        raise ValueError(f"planner={config.planner!r}: {told}")


def _show(bar: Progress, task: TaskID, count: int) -> None:
    bar.update(task, completed=count)


def make_recorder(config: WriteConfig, who: PolicyValue, mesh: Mesh) -> tuple[Recorder, Any]:
    """Makes what plays the games, a search and rule-based players or these alone, and the parameters of the search's network."""
    player = agents.make(config.player or usual_opponent(who.game), who.game)
    planner, params = agents.make_planner(config.planner, who.game) if config.planner else (shown_moves(player, who.game), None)
    devices: int = mesh.devices.size
    lanes = config.lanes // devices
    games = SelfPlay(
        Pool(who.game, lanes, devices), Targets(who.encoder), remembered=lanes, partner=player if config.planner else None
    )
    return Recorder(games, planner, mesh), params


def write_recording(path: Path, found: Recording, who: PolicyValue) -> None:
    """Writes what was recorded as a data set."""
    targets, samples = Targets(who.encoder), found.samples
    planes_of = jax.jit(jax.vmap(who.encoder.planes))
    policy: np.ndarray = np.asarray(jax.vmap(targets.unpack)(samples.policy))

    def planes(start: int, stop: int) -> np.ndarray:
        place = np.minimum(np.arange(start, start + zarr_folders.CHUNK), stop - 1)  # one shape is compiled
        return np.asarray(planes_of(jax.tree.map(lambda leaf: leaf[place], samples.view)))[: stop - start]

    policy = policy / policy.sum(-1, keepdims=True)
    value = np.asarray(samples.value, np.float32)
    data_sets.write(path, planes, found.actions, policy, found.qvalues.astype(np.float32), value, found.attributes)
