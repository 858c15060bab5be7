"""What the environment tells of several processes of one command: under SLURM, Open MPI, on Kubernetes and on TPU pods.

JAX finds the processes there; this says whether it may look, and what an error can tell of them before it has.
"""

from __future__ import annotations

import os


def is_found() -> bool:
    """Says whether the environment is one of several processes that JAX can make out by itself.

    A login shell, a batch script outside of `srun`, and a task that is alone are none.
    """
    return _scheduler() is not None


def index() -> int:
    """Gives the number of this process, 0 where that is not told."""
    return _number((_scheduler() or ("", ""))[0])


def count() -> int:
    """Gives how many processes there are, 0 where that is not told."""
    return _number((_scheduler() or ("", ""))[1])


def _scheduler() -> tuple[str, str] | None:
    """Gives the variables for number and count, of who started this process as one of several; None: nobody did.

    `mpirun` in a batch script of SLURM is Open MPI: SLURM's own variables are there too, and tell of one task.
    """
    several = {name: _number(name) > 1 for name in ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")}
    if several["SLURM_STEP_NUM_TASKS"] and several["SLURM_NTASKS"] and "SLURM_STEP_NODELIST" in os.environ:
        return "SLURM_PROCID", "SLURM_NTASKS"
    if several["OMPI_COMM_WORLD_SIZE"]:
        return "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
    if "KUBERNETES_SERVICE_HOST" in os.environ and "JOB_COMPLETION_INDEX" in os.environ:
        return "JOB_COMPLETION_INDEX", ""
    if "," in os.environ.get("TPU_WORKER_HOSTNAMES", ""):
        return "TPU_WORKER_ID", ""
    return None


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0
