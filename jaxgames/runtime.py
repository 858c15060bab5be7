"""Prepares JAX before it starts: XLA flags, one device per core of a CPU, the compilation cache.

This is the one place that does so. Every script, test, notebook and benchmark calls `prepare` before its first array:

    from jaxgames import runtime

    runtime.prepare()

On a CPU it is worth a lot. XLA otherwise gives every output its own kernel, and each kernel computes again what its output
depends on; a game step has a hundred outputs. And XLA splits kernels over the cores: a program of many small ones burns more time
and ends no sooner. One device per core, each with its own share of the games (`data_mesh`), does end sooner, so kernels are left
whole: two devices that split each other's kernels are 1 to 1.75 times as fast as one, and left alone 1.6 to 2 times.
And XLA works on 8 games at a time even where a core's registers hold 16, to spare older cores that slow down when all of them are
used; boards as bits gain a tenth to a half from the full width, and networks lose nothing.
And with multi-output fusion what two kernels need, constants too, is no part of either of them. XLA's pass that makes one of
equal values ("cse") makes more of that: it is left out, and steps are up to 1.5 times as fast. On accelerators, where kernels
are few and large, nothing is gained, so there it stays.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

import jax
import numpy as np
from jax.sharding import AxisType, Mesh

from jaxgames import checks, plain_argmax, processes

DATA_AXIS = "data"

BACKEND_OPTIONS_FLAG = "--xla_backend_extra_options"
DEVICE_COUNT_FLAG = "--xla_force_host_platform_device_count"
VECTOR_WIDTH_FLAG = "--xla_cpu_prefer_vector_width"
VECTOR_WIDTH = 512  # bits; a core that has narrower registers uses those
MULTI_OUTPUT_FUSION = "xla_cpu_use_multi_output_fusion"
DISABLED_PASSES_FLAG = "--xla_disable_hlo_passes"
KERNEL_SPLITTING = "cpu-parallel-task-assigner"  # the pass that splits kernels over the cores
SHARING = "cse"  # the pass that makes one of equal values, so that kernels share them
OLDER_EMITTERS = "--xla_cpu_use_fusion_emitters=false"  # these cannot do what is fused without that pass
MIN_COMPILE_SECONDS_TO_CACHE = 0.5


def prepare(*, cores: int | None = None, cache: str | os.PathLike[str] | None = None, multi_output_fusion: bool = True) -> None:
    """Prepares JAX, which must not have started; starts nothing itself, and may be called again with the same settings.

    What the user has set stays: other XLA flags and backend options, a width of vectors and a number of CPU devices (`XLA_FLAGS`,
    `JAX_NUM_CPU_DEVICES`), `PJRT_NPROC`, `JAX_COMPILATION_CACHE_DIR`, `JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS`. An
    argument given here goes before the environment. Processes started later inherit the flags. `argmax` and `argmin` are compiled
    in another way on CPUs (`plain_argmax`).

    Args:
      cores: CPU devices to make and threads to use; None: what the user has set, else every core this process may run on.
      cache: folder of the compilation cache; None: what the user has set, else `.cache/jax` in the checkout, else in the
        user's cache folder. A folder that cannot be written gives a warning, and no cache.
      multi_output_fusion: False leaves out the flag: games play the same, only slower on a CPU.

    Raises:
      RuntimeError: JAX has already started with other settings.
      ValueError: `cores` is no whole number or less than one, or `XLA_FLAGS` holds neither flags nor a file of flags.
    """
    if cores is not None:
        cores = checks.count("cores", cores, 1)
    environment = _environment(cores, multi_output_fusion)
    settings = {**_device_count_setting(cores), **_cache_setting(cache)}
    missing = [f"{name}={value}" for name, value in environment.items() if os.environ.get(name) != value]
    missing += [f"{name}={value}" for name, value in settings.items() if jax.config.values[name] != value]
    if missing and backend_is_running():
        raise RuntimeError(
            f"JAX has already started, without {', '.join(missing)}: call jaxgames.runtime.prepare() before the first use of "
            "an array or a device (in a notebook: restart it and run this cell first)"
        )
    os.environ.update(environment)
    for name, value in settings.items():
        jax.config.update(name, value)
    plain_argmax.register()
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILE_SECONDS_TO_CACHE)


def backend_is_running() -> bool:
    """Says whether JAX has started a backend, and starts none to find out."""
    count = jax.config.values["jax_num_cpu_devices"]
    try:
        jax.config.update("jax_num_cpu_devices", count + 1)  # refused as soon as a backend runs
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", count)
    return False


def will_run_on_cpus() -> bool:
    """Says whether JAX will run on CPUs alone, and starts nothing: it is told to, or no package for anything else is there."""
    if platforms := _platforms():
        return set(platforms.split(",")) == {"cpu"}
    packages = any(importlib.util.find_spec(name) for name in ("jax_plugins", "libtpu"))
    return not packages and not importlib.metadata.entry_points(group="jax_plugins")


def _platforms() -> str | None:
    """Returns what JAX is told to run on, as in "cuda,cpu"; None or "" where it looks for itself."""
    platforms: str | None = jax.config.values["jax_platforms"]
    return platforms


def usable_cores() -> int:
    """Returns how many cores this process may use: its affinity where there is such a thing, and a container's quota."""
    return min(_schedulable_cores(), _quota_cores())


def data_mesh(num_devices: int | None = None) -> Mesh:
    """Makes the mesh over which everything that plays many games splits them; starts the backend.

    Args:
      num_devices: how many of this process's devices to use; None: all devices, those of other processes too.

    Returns:
      A mesh with the one axis "data", whose arrays are laid out by the compiler (`AxisType.Auto`).

    Raises:
      ValueError: there are fewer devices.
    """
    devices = jax.devices() if num_devices is None else jax.local_devices()
    if num_devices is None:
        num_devices = len(devices)
    if not 1 <= num_devices <= len(devices):
        raise ValueError(f"num_devices={num_devices}: must be in 1..{len(devices)}, the devices of this process")
    return Mesh(np.array(devices[:num_devices]), (DATA_AXIS,), axis_types=(AxisType.Auto,))


def free_memory(devices: Iterable[jax.Device] | None = None) -> int | None:
    """Gives the bytes that are free on some devices of this process, None where that is not known; starts the backend.

    What is free on a machine is shared by the processes on it that work together: each has as much as the others.

    Args:
      devices: such as those of a mesh; None: all devices of this process. CPUs have the memory of the machine, however many.
    """
    stats = [device.memory_stats() for device in (jax.local_devices() if devices is None else devices)]
    if all(s and "bytes_limit" in s for s in stats):
        return sum(s["bytes_limit"] - s.get("bytes_in_use", 0) for s in stats if s)
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    free = next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)
    share = None if free is None else free // processes.on_this_machine()
    limits = [number for number in (share, _rest_of_address_space()) if number is not None]
    return min(limits, default=None)


def _rest_of_address_space() -> int | None:
    """Gives the bytes that this process may still ask for, None where `ulimit -v` sets no limit or is not known."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        used = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(limit - used, 0)


def _environment(cores: int | None, multi_output_fusion: bool) -> dict[str, str]:
    """Returns the environment variables that JAX should find when it starts."""
    flags = user_flags()
    if multi_output_fusion:
        flags = with_listed(flags, BACKEND_OPTIONS_FLAG, MULTI_OUTPUT_FUSION)
    flags = with_listed(flags, DISABLED_PASSES_FLAG, KERNEL_SPLITTING)
    if multi_output_fusion and OLDER_EMITTERS not in flags and not backend_is_running() and will_run_on_cpus():
        flags = with_listed(flags, DISABLED_PASSES_FLAG, SHARING)
    if cores is not None or jax.config.values["jax_num_cpu_devices"] < 0:
        flags = _with_device_count(flags, cores)
    environment = {"XLA_FLAGS": _with_vector_width(flags)}
    # XLA's pool of threads is as large as the affinity mask: a smaller one has to be asked for.
    threads = usable_cores() if cores is None else min(cores, usable_cores())
    if threads < _schedulable_cores() and (cores is not None or "PJRT_NPROC" not in os.environ):
        environment["PJRT_NPROC"] = str(threads)
    return environment


def user_flags() -> str:
    """Returns the flags that the user has set; XLA also takes the name of a file of flags, which is read here."""
    text = os.environ.get("XLA_FLAGS", "").strip()
    if not text or text.startswith("-"):
        return text
    try:
        return " ".join(Path(text).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"XLA_FLAGS={text!r}: must be flags that begin with '--', or a readable file of flags") from error


def with_listed(flags: str, flag: str, item: str) -> str:
    """Adds an item to a flag that holds a list, which may have been given already.

    Args:
      flags: all flags, as in `XLA_FLAGS`.
      flag: the one with the list, as in "--xla_disable_hlo_passes".
      item: "name" or "name=value".

    Returns:
      The flags, unchanged where the list has an item of this name.
    """
    found = list(re.finditer(rf"{flag}=[\"']?([^\s\"']*)", flags))
    given = [item for match in found for item in match[1].split(",") if item]
    if item.partition("=")[0] in (one.partition("=")[0] for one in given):
        return flags
    if not found:
        return f"{flags} {flag}={item}".strip()
    separator = "," if found[-1][1] else ""
    return flags[: found[-1].end()] + separator + item + flags[found[-1].end() :]


def _with_vector_width(flags: str) -> str:
    """Sets how wide vectors should be, where the user has not."""
    return flags if VECTOR_WIDTH_FLAG in flags else f"{flags} {VECTOR_WIDTH_FLAG}={VECTOR_WIDTH}".strip()


def _with_device_count(flags: str, cores: int | None) -> str:
    """Sets the number of CPU devices; without `cores` only where the user has not."""
    given = re.search(rf"{DEVICE_COUNT_FLAG}=\S+", flags)
    if given is None:
        return f"{flags} {DEVICE_COUNT_FLAG}={usable_cores() if cores is None else cores}".strip()
    if cores is None:
        return flags
    return re.sub(rf"{DEVICE_COUNT_FLAG}=\S+", f"{DEVICE_COUNT_FLAG}={cores}", flags)


def _device_count_setting(cores: int | None) -> dict[str, int]:
    """Returns the setting that goes before the flag, where the user has made it and `cores` may say otherwise."""
    if cores is None or jax.config.values["jax_num_cpu_devices"] < 0:
        return {}
    return {"jax_num_cpu_devices": cores}


def _cache_setting(cache: str | os.PathLike[str] | None) -> dict[str, str | None]:
    """Returns the setting of the compilation cache's folder: None where it cannot be written; nothing where it is off."""
    if not jax.config.values["jax_enable_compilation_cache"]:
        return {}
    if cache is None:
        cache = jax.config.values["jax_compilation_cache_dir"]
    if cache is None:
        cache = os.environ.get("JAX_COMPILATION_CACHE_DIR")  # set since JAX was imported
    if cache is None:
        cache = _default_cache()
    folder = os.fspath(cache)
    if not folder:
        return {}
    if "://" not in folder:
        folder = os.path.abspath(folder)
        if not _is_writable(folder):
            return {"jax_compilation_cache_dir": None}
    return {"jax_compilation_cache_dir": folder}


def _default_cache() -> Path:
    """Returns the cache folder of the checkout, or the user's where this is installed without one."""
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".cache" / "jax"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxgames" / "jax"


def _is_writable(folder: str) -> bool:
    """Makes the folder and a file in it; says in a warning why that fails."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        message = f"compilation cache {folder}: {error.strerror}; each process compiles everything again"
        warnings.warn(message, stacklevel=4)
        return False


def _schedulable_cores() -> int:
    """Returns the number of cores in this process's affinity mask, else of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota_cores() -> int:
    """Returns the whole cores that a Linux control group grants, at least one; without a quota, all of the machine's."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or "max"
        return os.cpu_count() or 1
