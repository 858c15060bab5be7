"""What the environment tells of several processes of one command: under SLURM, Open MPI, on Kubernetes and on TPU pods.

JAX finds the processes there; this says whether it may look, and what an error can tell of them before it has.
"""

from __future__ import annotations

import os

_INDICES = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "JOB_COMPLETION_INDEX", "TPU_WORKER_ID")
_COUNTS = ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")


def is_found() -> bool:
    """Says whether the environment is one of several processes that JAX can make out by itself.

    A login shell, a batch script outside of `srun`, and a task that is alone are none.
    """
    several = {name: _number(name) > 1 for name in ("SLURM_STEP_NUM_TASKS", *_COUNTS)}
    slurm = several["SLURM_STEP_NUM_TASKS"] and several["SLURM_NTASKS"] and "SLURM_STEP_NODELIST" in os.environ
    pods = "KUBERNETES_SERVICE_HOST" in os.environ and "JOB_COMPLETION_INDEX" in os.environ
    tpus = "," in os.environ.get("TPU_WORKER_HOSTNAMES", "")
    return slurm or several["OMPI_COMM_WORLD_SIZE"] or pods or tpus


def index() -> int:
    """Gives the number of this process, 0 where that is not told."""
    return next((_number(name) for name in _INDICES if name in os.environ), 0)


def count() -> int:
    """Gives how many processes there are, 0 where that is not told."""
    return next((_number(name) for name in _COUNTS if name in os.environ), 0)


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0
