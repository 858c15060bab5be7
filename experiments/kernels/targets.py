"""What programs are compiled for: the devices of this process, or an accelerator that is not there.

XLA compiles for a GPU ahead of time on a machine without one, from a description of the device: the package `jax-cuda12-plugin`
(without the libraries of CUDA) and the assembler of `nvidia-cuda-nvcc-cu12` are all it takes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

from jaxgames import runtime

HERE, H100 = "here", "h100"

# Of the data sheet and NVIDIA's tables of compute capabilities.
_H100 = """
gpu_device_info {
  cuda_compute_capability { major: 9 }
  core_count: 132  fpus_per_core: 128  clock_rate_ghz: 1.98  threads_per_warp: 32
  threads_per_block_limit: 1024  threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535  block_dim_limit_z: 65535
  shared_memory_per_block: 49152  shared_memory_per_block_optin: 232448  shared_memory_per_core: 233472
  registers_per_core_limit: 65536  registers_per_block_limit: 65536
  memory_bandwidth: 3352320000000  l2_cache_size: 52428800  device_memory_size: 84929347584
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 }
runtime_version { major: 12 minor: 8 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def mesh_of(target: str, packages: Path | None = None) -> Mesh:
    """Makes the mesh of one device that programs are compiled for.

    Args:
      target: "here" or "h100".
      packages: folder with the two packages, as `pip install --no-deps --target` leaves it; None: they are installed.

    Raises:
      ValueError: XLA cannot compile for it, as when the packages are missing.
    """
    if target == HERE:
        return runtime.data_mesh(1)
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # it asks for libraries that only a computation needs
    try:
        device = topologies.get_topology_desc(platform="cuda", target_config=_H100, topology="1x1x1").devices[0]
    except (NotImplementedError, RuntimeError) as error:
        where = f" (looked for in {packages})" if packages else ""
        raise ValueError(f"target={target!r}: needs the packages jax-cuda12-plugin and nvidia-cuda-nvcc-cu12{where}") from error
    return Mesh(np.array([device]), (runtime.DATA_AXIS,), axis_types=(AxisType.Auto,))


def prepare(target: str, packages: Path | None) -> None:
    """Tells JAX and XLA, before they start, where the packages are; arguments as for `mesh_of`."""
    if target == HERE:
        return
    # The command line has prepared JAX for the CPUs of this machine, for which a pass is left out that accelerators keep.
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "").replace(f",{runtime.SHARING}", "")
    if packages:
        sys.path.insert(0, str(packages))
    for folder in (packages, *(Path(path) for path in sys.path)):
        assembler = folder and folder / "nvidia" / "cuda_nvcc"
        if assembler and assembler.is_dir():
            os.environ["PATH"] = f"{assembler / 'bin'}{os.pathsep}{os.environ['PATH']}"
            flags = f"--xla_gpu_cuda_data_dir={assembler} --xla_gpu_autotune_level=0"  # there is nothing to try kernels on
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
            break
    jax.config.update("jax_enable_compilation_cache", False)
