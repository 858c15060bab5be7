"""Several processes, on one or many machines, that run one program: which one this is, and what all have to know of each other.

All run the same command and make the same steps; arrays are spread over the devices of all of them (`runtime.data_mesh`), and JAX
moves the data. The first process alone writes, logs and shows (`leads`, `on_first`). With one process, which is the usual case,
everything here gives back what it is given, and JAX hears nothing of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jaxgames import cluster, last_words, same_program, watchdog

Result = TypeVar("Result")

SILENCE = 10  # seconds without a sign of life after which a process counts as lost
_FAREWELL_SECONDS = 10  # at the end, for the others to come to theirs
_MOMENT = 3  # seconds, after an error, for others that have met the same one
AUTO, NONE = "auto", "none"
_HOST = re.compile(r"[\w.-]+|\[[\da-fA-F:.]+(%\w+)?\]")  # a name, an IPv4 address, or an IPv6 address in brackets


@dataclasses.dataclass(frozen=True)
class Processes:
    """Several processes of one command, each started with the same flags but for its number.

    Under SLURM (srun with several tasks), Open MPI, on Kubernetes (an indexed job) and on TPU pods they find each other.

    Attributes:
      coordinator: host and port of the first process, such as node1:1234; auto: let JAX find it; none: one process alone.
      num_processes: how many there are.
      process_id: which one this is, from 0.
      patience: seconds to wait for the others at the start.
    """

    coordinator: str = ""
    num_processes: int = 0
    process_id: int = -1
    patience: int = 120

    def __post_init__(self) -> None:
        given = self.num_processes != 0 or self.process_id != -1
        if self.patience < 1:
            raise ValueError(f"patience={self.patience}: must be >= 1")
        if self.coordinator in ("", AUTO, NONE):
            if given:
                raise ValueError("num_processes and process_id: belong to --coordinator HOST:PORT, which is missing")
            return
        host, colon, port = self.coordinator.rpartition(":")
        if not (_HOST.fullmatch(host) and colon and port.isdecimal()):
            raise ValueError(f"coordinator={self.coordinator!r}: must be HOST:PORT, auto or none")
        if not 0 < int(port) < 65536:
            raise ValueError(f"coordinator={self.coordinator!r}: the port must be in 1..65535")
        if self.num_processes < 1:
            raise ValueError(f"num_processes={self.num_processes}: must be >= 1, the number of all processes")
        if self.process_id == -1:
            raise ValueError(f"process_id: --process-id is missing, the number of this process in 0..{self.num_processes - 1}")
        if not 0 <= self.process_id < self.num_processes:
            raise ValueError(f"process_id={self.process_id}: must be in 0..{self.num_processes - 1}")


@dataclasses.dataclass
class _Present:
    """What is true of this process; a coordinator holds its port by the socket `claim`, and `here` of all run on this machine."""

    index: int = 0
    count: int = 1
    claim: int = -1
    here: int = 1
    calls: watchdog.CommonCalls = dataclasses.field(default_factory=watchdog.CommonCalls)


_present = _Present()


def index() -> int:
    """Returns the number of this process, from 0."""
    return _present.index


def count() -> int:
    """Returns how many processes there are."""
    return _present.count


def on_this_machine() -> int:
    """Returns how many of the processes run on this machine, and share its memory; this one counts."""
    return _present.here


def leads() -> bool:
    """Says whether this process is the one that writes and shows."""
    return _present.index == 0


def start(options: Processes, program: Callable[[], dict[str, str]] = dict) -> None:
    """Meets the other processes, if there are any; to be called before the first array.

    Args:
      options: as given.
      program: gives what must be the same in all of them, by name, such as the version of the code and the settings.

    Raises:
      ValueError: they differ in the number of processes or in `program`; JAX was to find them and does not.
      OSError: the coordinator's port is taken.
    """
    how = _how(options)
    if how is None:
        return
    address, number, total = how
    _tell_in_one_line(address, number, total or cluster.count(), options.patience)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # JAX ends by an abort
    _let_compute_go_first()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM, and nothing would end
    found: tuple[Any, Any, Any] = (address, total, number) if total else (None, None, None)
    try:
        jax.distributed.initialize(
            *found,
            initialization_timeout=options.patience,
            heartbeat_timeout_seconds=SILENCE,
            shutdown_timeout_seconds=_FAREWELL_SECONDS,
        )
    except (ValueError, RuntimeError, ImportError) as error:
        if total:
            raise
        told = f"coordinator={options.coordinator!r}: JAX cannot find the other processes ({str(error).splitlines()[0]})"
        raise ValueError(f"{told}: give --coordinator HOST:PORT with --num-processes and --process-id, or none") from None
    _present.index, _present.count = (number, total) if total else (jax.process_index(), jax.process_count())
    watchdog.give_signs_of_life()
    mine = {same_program.COUNT: str(count()), **program()}
    _present.here = same_program.compare(_client(), index(), count(), mine, options.patience)
    _connect()
    watchdog.watch(_present.calls, index(), count(), _client)


def _let_compute_go_first() -> None:
    """Keeps a thread that is woken by a message from taking the core of one that computes; threads started later inherit it.

    Gloo's thread wakes when a message comes, and if nobody waits for that message yet, it asks for it over and over: until the
    clock's next tick, 4 ms, it would hold up the very thread that is to take it. An all-reduce on busy cores takes 0.14 ms so.
    """
    if hasattr(os, "SCHED_BATCH") and os.sched_getscheduler(0) == os.SCHED_OTHER:  # else the user has chosen
        with contextlib.suppress(OSError):  # where a container forbids it, it is only slower
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _how(options: Processes) -> tuple[str, int, int] | None:
    """Gives address, number and count as far as they are known before JAX asks, else "" and 0; None for one process alone."""
    if options.coordinator == NONE or (options.coordinator == "" and not cluster.is_found()):
        return None
    if options.coordinator in ("", AUTO):
        return "", cluster.index(), 0
    if options.process_id == 0:
        _claim_port(options.coordinator)
    return options.coordinator, options.process_id, options.num_processes


def free_port() -> int:
    """Gives a port of this machine that nobody uses at the moment, for processes that are started here."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


def _claim_port(address: str) -> None:
    """Makes this process the coordinator of a port of this machine; under Linux the only one, as long as it lives.

    Raises:
      OSError: another program has the port, or another process 0 is about to take it. JAX would share it, and wait in vain.
    """
    port = int(address.rpartition(":")[2])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what a lost coordinator has left behind does not count
        try:
            probe.bind(("", port))
            if sys.platform == "linux":  # a name without a file, which is free again when its process has ended
                if _present.claim >= 0:
                    os.close(_present.claim)
                    _present.claim = -1
                with socket.socket(socket.AF_UNIX) as claim:
                    claim.bind(f"\0jaxgames coordinator {port}")
                    _present.claim = claim.detach()
        except OSError as error:
            told = f"port {port} is in use ({error.strerror}): is there a second process 0?"
            raise OSError(f"coordinator={address!r}: {told}") from None


def _tell_in_one_line(address: str, number: int, total: int, patience: int) -> None:
    """Sends what C++ writes to stderr through `last_words`, from now on."""
    words = [str(number), str(total or "several"), address, str(patience), str(SILENCE)]
    told = os.dup(2)
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", last_words.__file__, *words], stdin=subprocess.PIPE, stderr=told, start_new_session=True
    )
    assert child.stdin is not None
    sys.stderr.flush()
    os.dup2(child.stdin.fileno(), 2)
    child.stdin.close()
    sys.stderr = os.fdopen(told, "w", buffering=1)  # Python's own errors go straight


def _connect() -> None:
    """Lets the devices of all processes meet, and one device of each: gloo waits for nobody more than 30 s when it connects.

    Later, one process may take longer to compile than another.
    """
    with _quiet():  # gloo tells of its connections
        wait()
        everywhere = Mesh(np.array(jax.devices()), ("all",), axis_types=(AxisType.Auto,))
        layout = NamedSharding(everywhere, PartitionSpec("all"))
        numbers = jax.make_array_from_callback((everywhere.size,), layout, lambda place: np.arange(everywhere.size)[place])
        fetch(numbers)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what C++ writes to stdout to itself."""
    sys.stdout.flush()
    before = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(before)


def _client() -> Any:
    """Gives JAX's client of the service by which processes meet, orbax's too; None where there is none.

    There is no public way to it before the devices are known.
    """
    from jax._src import distributed

    return distributed.global_state.client


def mesh() -> Mesh:
    """Makes a mesh of one device of each process."""
    firsts = {device.process_index: device for device in reversed(jax.devices())}
    return Mesh(np.array([firsts[number] for number in sorted(firsts)]), ("process",), axis_types=(AxisType.Auto,))


def gather(values: Any) -> np.ndarray:
    """Brings an array of each process, all of one shape and type, to all: numpy [count, ...]."""
    values = np.asarray(values)
    if count() == 1:
        return values[None]
    over = mesh()
    with _present.calls.one():
        own = jax.device_put(values[None], over.devices[index()])
        spread = NamedSharding(over, PartitionSpec("process"))
        parts = jax.make_array_from_single_device_arrays((count(), *values.shape), spread, [own])
        return np.asarray(jax.jit(_same, out_shardings=NamedSharding(over, PartitionSpec()))(parts).addressable_data(0))


def _same(values: Any) -> Any:
    return values


def any_of(flag: bool) -> bool:
    """Says on all processes whether one of them says yes; all must ask."""
    return bool(gather(np.int32(flag)).any()) if count() > 1 else flag


def texts(text: str) -> list[str]:
    """Brings a text of each process to all, in their order."""
    if count() == 1:
        return [text]
    content = np.frombuffer(text.encode(), np.uint8)
    lengths = gather(np.int32(len(content)))
    padded = np.zeros(max(64, 1 << int(lengths.max()).bit_length()), np.uint8)  # few shapes: each is compiled
    padded[: len(content)] = content
    return [row[:length].tobytes().decode() for row, length in zip(gather(padded), lengths, strict=True)]


def wait() -> None:
    """Waits until all processes are here."""
    any_of(False)


def agree(do: Callable[[], Result]) -> Result:
    """Does something in each process; if it fails in one with an OSError or a ValueError, it fails in all with that.

    A process that fails where others do not would leave them waiting.
    """
    if count() == 1:
        return do()
    result, error, told = None, None, ""
    try:
        result = do()
    except (OSError, ValueError) as failure:
        error, told = failure, json.dumps([isinstance(failure, OSError), _text(failure)])
    found = [text for text in texts(told) if text]
    if error is not None:
        raise error
    if found:
        is_of_system, text = json.loads(found[0])
        raise OSError(text) if is_of_system else ValueError(text)
    return result  # type: ignore[return-value]


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def on_first(do: Callable[[], Any]) -> Any:
    """Does something in the first process alone, and waits for it in the others; all get what it gives, which JSON must hold.

    What it does must not wait for the others: they are waiting for it.

    Raises:
      OSError, ValueError: in all, where it raises one in the first.
    """
    if count() == 1:
        return do()
    made = agree(lambda: json.dumps(do()) if leads() else "")
    return json.loads(texts(made)[0])


def fetch(tree: Any) -> Any:
    """Gives arrays as numpy in every process, those too that are spread over devices of others; all must call."""
    return jax.tree.map(_fetched, tree)


def _fetched(leaf: Any) -> np.ndarray:
    if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable or leaf.is_fully_replicated:
        return np.asarray(leaf)
    if not isinstance(leaf.sharding, NamedSharding):
        raise ValueError(f"sharding={leaf.sharding}: must be a NamedSharding")
    everywhere = NamedSharding(leaf.sharding.mesh, PartitionSpec())
    with _present.calls.one():
        return np.asarray(jax.jit(_same, out_shardings=everywhere)(leaf).addressable_data(0))


def spread(tree: Any, over: Mesh, spec: PartitionSpec) -> Any:
    """Lays out numpy arrays, which all processes have whole, over a mesh; one process alone leaves that to JAX."""
    if count() == 1:
        return tree
    layout = NamedSharding(over, spec)
    return jax.tree.map(lambda leaf: jax.make_array_from_callback(leaf.shape, layout, lambda place: leaf[place]), tree)


def await_verdict(error: BaseException) -> None:
    """Waits until JAX ends this process, where an error tells that another one is lost; comes back if JAX does not."""
    if count() > 1 and (isinstance(error, jax.errors.JaxRuntimeError) or "Gloo" in str(error)):
        time.sleep(3 * SILENCE)


def end(*, failed: bool = False) -> None:
    """Parts from the other processes: at the end of all work, or after an error, which the others may not have met.

    After an error that the others have not met this ends the process, with code 2: JAX would wait for them, and abort.
    """
    if count() == 1:
        return
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not failed:
        wait()
        jax.distributed.shutdown()
        return
    sys.stderr.flush()
    os.write(2, f"{last_words.FAREWELL}\n".encode())
    parting = threading.Thread(target=_shut_down, daemon=True)
    parting.start()
    parting.join(_MOMENT)
    if parting.is_alive():
        os._exit(2)


def _shut_down() -> None:
    with contextlib.suppress(jax.errors.JaxRuntimeError):
        jax.distributed.shutdown()
