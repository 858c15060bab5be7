"""What the environment tells of several processes."""

import os

import pytest

from jaxgames import cluster

SLURM = {"SLURM_NTASKS": "4", "SLURM_PROCID": "1", "SLURM_JOB_ID": "7"}


@pytest.mark.parametrize(
    ("environment", "number_and_count"),
    [
        ({}, None),
        (SLURM, None),  # a batch script outside of srun
        ({**SLURM, "SLURM_STEP_NODELIST": "node1", "SLURM_STEP_NUM_TASKS": "1"}, None),  # a shell on a node
        ({"SLURM_NTASKS": "1", "SLURM_STEP_NODELIST": "node1", "SLURM_STEP_NUM_TASKS": "1"}, None),
        ({**SLURM, "SLURM_STEP_NODELIST": "node1", "SLURM_STEP_NUM_TASKS": "4"}, (1, 4)),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, None),  # any pod
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "1"}, (1, 0)),
        ({"TPU_WORKER_HOSTNAMES": "localhost"}, None),
        ({"TPU_WORKER_HOSTNAMES": "10.0.0.1,10.0.0.2", "TPU_WORKER_ID": "1"}, (1, 0)),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}, (1, 2)),
        ({**SLURM, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, (0, 2)),  # mpirun in a batch script
    ],
)
def test_others_are_found_where_there_are_others(environment, number_and_count, monkeypatch):
    for name in os.environ:
        if name.startswith(("SLURM_", "KUBERNETES_", "TPU_", "OMPI_", "JOB_")):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cluster.is_found() is (number_and_count is not None)
    assert (cluster.index(), cluster.count()) == (number_and_count or (0, 0))
