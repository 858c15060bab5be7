"""What several processes do together, and one alone with as many devices: each thing prints what must be the same."""

from __future__ import annotations

import dataclasses
import errno
import functools
import hashlib
import json
import os
import signal
import socket
import types
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec
from rich.console import Console

from jaxgames import processes, runtime
from jaxgames.agent import memoryless
from tests.shared_games import digest, games
from tests.training.jobs.toy import ToyConfig, ToyJob
from tests.tug import Tug
from training.jobs import job, running
from training.learn.dealing import is_dealt
from training.learn.learner import Learner, Programs, Updates, check_split
from training.play import memory
from training.storage import files, parts
from training.storage.checkpoints import Checkpoints
from training.storage.parts import Piece

META = {"kind": "shared"}
ROWS, BATCH = 24, 8


def main(together: processes.Processes, devices: int, folder: str) -> None:
    """Does everything, in one of several processes or alone; prints what it found as JSON."""
    runtime.prepare(cores=devices)
    processes.start(together)
    found = {"devices": jax.device_count(), "games": games(), "learner": learnt(Path(folder))}
    if processes.count() > 1:
        found |= {"stopped": stopped(Path(folder))}
    print(json.dumps(found))
    processes.end()


def meet(together: processes.Processes, folder: str) -> None:
    """Does what needs no compiling, in one of several processes; prints what it found as JSON."""
    runtime.prepare(cores=1)
    processes.start(together)
    found = {"devices": jax.device_count(), "talk": talk(), "disks": disks(Path(folder)), "yields": yields()}
    found |= {"spread": spread(Path(folder)), "full": full(Path(folder))}
    found |= {"here": processes.on_this_machine(), "refused": refused(), "free": free()}
    print(json.dumps(found))
    processes.end()


def refused() -> str:
    """What is told where games do not fit into the memory of the second process alone."""
    bytes_free = 100 if processes.index() == 1 else 2**40
    with mock.patch.object(runtime, "free_memory", return_value=bytes_free):
        try:
            memory.check(Tug(), [memoryless("a", None)] * 2, 8)
        except ValueError as error:
            return str(error)
    return ""


def free() -> float:
    """How much of the memory that is free on this machine this process may take."""
    mine = runtime.free_memory() or 0
    with mock.patch.object(processes, "on_this_machine", return_value=1):
        return mine / (runtime.free_memory() or 1)


def yields() -> bool:
    """Whether threads of this process leave the core to one that computes."""
    return not hasattr(os, "SCHED_BATCH") or os.sched_getscheduler(0) == os.SCHED_BATCH


def alone(devices: int, folder: str) -> None:
    """The same in one process."""
    main(processes.Processes(processes.NONE), devices, folder)


def updates_for(devices: int) -> Updates:
    """A line through points."""

    def loss(params, samples, games, which):
        del games, which
        error = jnp.square(params["slope"] * samples[:, 0] + params["height"] - samples[:, 1]).mean()
        return error, {"error": error}

    return Updates(loss, optax.adam(0.1), jnp.zeros(2), BATCH, ROWS, devices)


def start_learning(programs: Programs) -> tuple[Learner, Any]:
    """Makes a learner whose rings are full, and the program of its gradient steps."""
    updates = updates_for(programs.mesh.devices.size)

    def begin(key):
        learner = updates.init({"slope": jnp.float32(0), "height": jnp.float32(0)}, ())
        capacity = len(learner.ring.rows)
        x = jax.random.uniform(jax.random.fold_in(key, jax.lax.axis_index("data")), (capacity, 1))
        ring = updates.store(learner.ring, jnp.concatenate([x, 2 * x + 1], 1), jnp.ones(capacity, bool))
        return dataclasses.replace(learner, ring=ring)

    takes, gives = (programs.same, programs.learner), (programs.learner, programs.same)
    learn = programs.compile(lambda key, learner: updates.learn(key, learner, 10), takes, gives)
    return programs.compile(begin, (programs.same,), programs.learner)(jax.random.key(1)), learn


def learnt(folder: Path) -> dict[str, Any]:
    """Gradient steps, a checkpoint half-way that others can go on from, and the rest of them."""
    programs, key = Programs(runtime.data_mesh()), jax.random.key(2)
    learner, learn = start_learning(programs)
    learner, _ = learn(key, learner)
    state = {"learner": learner, "host": np.float64(0.5)}
    with Checkpoints(folder / "learner", META) as kept:
        found = kept.restore({"state": state}) if kept.steps() else None
        if found is None:
            kept.save(1, {"state": state})
        else:
            learner = found[1]["state"]["learner"]
    half = digest(learner)
    learner, told = learn(key, learner)
    return {"half": half, "whole": digest(learner.params), "loss": float(told["loss"]), "went_on": found is not None}


def talk() -> list[Any]:
    """What processes say to each other."""
    me = processes.index()
    found: list[Any] = [processes.texts("a" * (100 * me)), processes.any_of(me == 1), processes.any_of(False)]
    found.append(processes.gather(np.arange(3) + me).tolist())
    found.append(processes.on_first(lambda: {"from": processes.index()}))
    for failure in (OSError("full"), ValueError("no number")):  # of the second process alone
        try:
            processes.agree(functools.partial(fail, failure if me == 1 else None))
        except (OSError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")
    try:
        check_split(job.mesh_for(Console(), lanes=3), types.SimpleNamespace(lanes=3, batch_size=BATCH, buffer_size=ROWS))
    except ValueError as error:
        found.append(str(error))
    return found


def disks(folder: Path) -> list[Any]:
    """What is found where a folder is not the same for all processes, and where one of them does not see the newest file yet."""
    me, found = processes.index(), list[Any]()
    with mock.patch.object(files, "SECONDS_TO_SEE", 0.2):
        try:
            Checkpoints(folder / f"own-{me}", META)
        except OSError as error:
            found.append(str(error).replace(str(folder), "").replace(socket.gethostname(), "HOST"))
    with Checkpoints(folder / "disk", META) as kept:
        for step in (1, 2):
            kept.save(step, {"step": np.int32(step)})
    with Checkpoints(folder / "disk", META) as kept:
        shown = kept.steps()
        with mock.patch.object(kept, "steps", return_value=shown[: 2 - me]):
            step, tree = kept.restore({"step": np.int32(0)})
    return [*found, step, int(tree["step"])]


def spread(folder: Path) -> list[Any]:
    """Of rows and keys that are spread over processes: what this one makes room for to restore them, and what it then holds."""
    rows = np.arange(12, dtype=np.uint32).reshape(4, 3)
    mesh = runtime.data_mesh()
    each_its_own = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))

    def spread_out(whole: np.ndarray) -> jax.Array:
        return jax.make_array_from_callback(whole.shape, each_its_own, lambda place: whole[place])

    key = jax.random.key(3)
    saved = {"key": key, "keys": jax.random.wrap_key_data(spread_out(rows[:, :2])), "rows": spread_out(rows), "same": rows}
    saved["small"] = spread_out(rows.astype(jnp.bfloat16))
    with Checkpoints(folder / "spread", META) as kept:
        kept.save(1, saved)
    with Checkpoints(folder / "spread", META) as kept, mock.patch.object(Piece, "empty", wraps=Piece.empty) as room:
        _, tree = kept.restore(saved)
    np.testing.assert_array_equal(tree["same"], rows)
    assert tree["key"] == key
    for after, before in zip(tree["small"].addressable_shards, saved["small"].addressable_shards, strict=True):
        np.testing.assert_array_equal(after.data, before.data)
    return [
        [call.args[0] for call in room.mock_calls],
        *(jax.random.key_data(shard.data).tolist() for shard in tree["keys"].addressable_shards),
        *(np.asarray(shard.data).tolist() for shard in tree["rows"].addressable_shards),
    ]


def full(folder: Path) -> list[Any]:
    """What is told and left where the second process alone cannot write its part of a checkpoint; then it is saved again."""

    def write(path: Path, _: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    found = list[Any]()
    with Checkpoints(folder / "full", META) as kept:
        kept.save(1, {"step": np.int32(1)})
        with mock.patch.object(parts, "write", write if processes.index() == 1 else parts.write):
            try:
                kept.save(2, {"step": np.int32(2)})
            except OSError as error:
                found.append(str(error).replace(str(folder), ""))
        processes.wait()  # until the first has cleared away
        found.append(sorted(path.name for path in (folder / "full").iterdir()))
        processes.wait()
        kept.save(2, {"step": np.int32(2)})
        return [*found, kept.steps()]


def fail(error: Exception | None) -> None:
    """Raises an error, if it is one."""
    if error is not None:
        raise error


class Interrupted(ToyJob):
    """The toy job; the last process is asked to stop in the fifth iteration."""

    def advance(self, state):
        if int(state.count) == 4 and processes.index() == processes.count() - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().advance(state)


def stopped(folder: Path) -> list[Any]:
    """A run that is stopped and goes on to its end."""
    config = ToyConfig(output=str(folder / "toy"))
    first = running.run(Interrupted(config, Console(quiet=True)))
    steps = sorted(int(path.name) for path in (folder / "toy" / "checkpoints").glob("[0-9]*"))
    last = running.run(ToyJob(dataclasses.replace(config, resume=True), Console(quiet=True)))
    assert last is not None
    return [first, steps, last["best"], hashlib.sha256((folder / "toy" / "params").read_bytes()).hexdigest()[:16]]


def dealt(folder: str) -> tuple[Any, Any]:
    """Restores on one device what was saved on others: the learner as saved, its rings of numpy, and the template's."""
    learner, _ = start_learning(Programs(runtime.data_mesh(1)))
    with Checkpoints(Path(folder) / "learner", META) as checkpoints:
        found = checkpoints.restore({"state": {"learner": learner, "host": np.float64(0)}}, free=is_dealt)
    assert found is not None
    return found[1]["state"]["learner"], learner
