"""A training job of a few numbers, which compiles in no time: what every job shares is tested with it."""

import dataclasses
import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from training.jobs.job import Job, JobConfig, plain
from training.storage.named_files import FileName


@dataclasses.dataclass(frozen=True)
class ToyLearnConfig:
    """How to learn."""

    decay: float = 0.9
    rows: int = 8


@dataclasses.dataclass(frozen=True)
class ToyConfig(JobConfig):
    """Learns nothing, in a way that depends on all that was before."""

    JOB = "toy"
    FREE = JobConfig.FREE | {"games", "total"}
    READ_AT_START = frozenset({"start"})

    learn: ToyLearnConfig = ToyLearnConfig()
    total: int = 24  # units; an iteration does two
    rate_every: int = 10  # units
    games: int = 0
    opponent: str = ""  # an agent
    start: FileName = ""
    checkpoint_every: int = 3


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """What changes."""

    params: jax.Array
    buffer: jax.Array
    count: jax.Array
    rated: np.int32
    best: np.float32


@functools.partial(jax.jit, donate_argnums=0)
def one_iteration(arrays, key, decay):
    """Writes a row of a buffer, drawn and mixed with an older one, and adds it to the parameters."""
    params, buffer, count = arrays
    row = count % len(buffer)
    words = jax.random.bits(jax.random.fold_in(key, count), buffer.shape[1:]) ^ buffer[(row * 7) % len(buffer)]
    params = params * decay + words[: len(params)].astype(jnp.float32)
    shares = jnp.arange(1, 4) / 6
    return (params, buffer.at[row].set(words), count + 1), {"loss": params.mean(), "shares": shares}


class ToyJob(Job):
    """The job."""

    SHOWN: ClassVar = {"loss": "loss", "score": "the score"}
    SPEED = "rows_per_second"
    FIGURE = "learning_figure"
    LENGTH = "total"

    def __init__(self, config, console):
        super().__init__(config, console)
        self.meta = {"kind": "toy", "rows": config.learn.rows}
        self.title, self.total, self.unit, self.learning_rate = "toy", config.total, "rows", config.learn.decay

    def start(self):
        buffer = jnp.zeros((self.config.learn.rows, 2000), jnp.uint32)
        return State(jnp.zeros(100), buffer, jnp.int32(0), np.int32(0), np.float32(-1))

    def begin(self, state):
        (self.folder / "begun").write_text(str(int(state.count)))

    def advance(self, state):
        arrays = (state.params, state.buffer, state.count)
        (state.params, state.buffer, state.count), metrics = one_iteration(arrays, self.key, self.config.learn.decay)
        values = plain(metrics)
        known = {"episodes": self.done(state), "cross_entropy": values["loss"], "agreement": 0.5}  # what the figure draws
        return values | known | {self.SPEED: 2, "finite": bool(jnp.isfinite(state.params).all())}

    def rate(self, state):
        done = self.done(state)
        if done - state.rated < self.config.rate_every:
            return {}
        score = float(state.buffer.mean())
        state.rated, state.best = np.int32(done), np.float32(max(score, state.best))
        return {"score": score, "wins": 0.25}

    def done(self, state):
        return 2 * int(state.count)

    def length(self, state):
        return self.done(state)

    def distribution(self, values):
        return dict(zip("abc", values["shares"], strict=True))

    def finish(self, state):
        (self.folder / "params").write_bytes(np.asarray(state.params).tobytes())
        return {"best": float(state.best), "games": self.config.games}
