"""What several processes compare at the start: that all run one program, and which of them share a machine."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import jax

COUNT = "num_processes"  # by which processes tell how many they count


def compare(client: Any, index: int, count: int, mine: dict[str, str], patience: int) -> int:
    """Compares what must be the same in all processes.

    Args:
      client: of the store that all can read, JAX's.
      index: number of this process.
      count: how many there are.
      mine: what this one has, by name; `COUNT` is among it.
      patience: seconds to wait for what the others have.

    Returns:
      How many of the processes run on this machine; this one counts.

    Raises:
      ValueError: on every process, where one counts other processes or runs another program, or does not say.
    """
    here, machine = socket.gethostname(), _machine()
    client.key_value_set(f"jaxgames/{index}", json.dumps({"host": here, "machine": machine, "program": mine}))
    found: list[Any] = []
    while len(found) < count:
        # All are read before any is judged: who left at the first difference would be missed by those that still read. But where
        # another one counts others, nobody may come for the numbers that are left.
        found.append(_told(client, len(found), count, patience))
        if found[-1]["program"].get(COUNT) != mine.get(COUNT):
            break
    for other, told in enumerate(found):
        theirs = told["program"]
        for name in mine | theirs:
            one, own = theirs.get(name, "nothing"), mine.get(name, "nothing")
            if one != own:
                apart = f"process {other} on {told['host']} has {name}={one}, process {index} on {here} has {name}={own}"
                raise ValueError(f"{apart}: start all with the same")
    return sum(told["machine"] == machine for told in found)


def _told(client: Any, other: int, count: int, patience: int) -> Any:
    """Waits for what a process says of itself."""
    try:
        return json.loads(client.blocking_key_value_get(f"jaxgames/{other}", patience * 1000))
    except jax.errors.JaxRuntimeError as error:
        if "DEADLINE_EXCEEDED" not in str(error):
            raise
        late = f"process {other} of {count} has come, but has not said within {patience} s what it runs"
        raise ValueError(f"{late}: give more --patience if it reads large files") from None


def _machine() -> str:
    """Names the machine, or what counts as one: that whose memory is shared, also by containers with names of their own."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()
