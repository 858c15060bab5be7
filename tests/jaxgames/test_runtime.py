import importlib.metadata
import importlib.util
import os
from types import SimpleNamespace

import jax
import pytest

from jaxgames import runtime
from tests.processes import ROOT, output_of, run_python

FUSION_OPTION = "xla_cpu_use_multi_output_fusion"
FUSION = f"--xla_backend_extra_options={FUSION_OPTION}"
SPLITTING = "--xla_disable_hlo_passes=cpu-parallel-task-assigner,cse"
WIDTH = "--xla_cpu_prefer_vector_width=512"
PREPARE = "from jaxgames import runtime; runtime.prepare()"
SHOW_CACHE = f"import jax; {PREPARE}; print(jax.config.jax_compilation_cache_dir)"
# Four outputs that XLA computes by four kernels, and by two with multi-output fusion.
COUNT_FUSIONS = """
import jax.numpy as jnp
def outputs(x, y):
    a = x * y ^ (x >> 3)
    return a, a + 1, a ^ x, a * y
x = jnp.arange(8, dtype=jnp.uint32)
print(jax.jit(outputs).lower(x, x).compile().as_text().count(" fusion("))
"""


def device_count_flag(count: int) -> str:
    return f"--xla_force_host_platform_device_count={count}"


def test_prepares_and_starts_no_backend_and_may_be_called_again_with_the_same_wish():
    code = f"""
import os, jax
{PREPARE}
print(os.environ["XLA_FLAGS"])
print(jax.config.jax_compilation_cache_dir)
runtime.prepare()
print(runtime.backend_is_running())
jax.devices()
runtime.prepare()
print(runtime.backend_is_running())
try:
    runtime.prepare(cores=7)
except RuntimeError as error:
    print(error)
"""
    flags, cache, before, after, told = output_of(code).splitlines()
    assert flags == f"{FUSION} {SPLITTING} {device_count_flag(runtime.usable_cores())} {WIDTH}"
    assert cache == str(ROOT / ".cache" / "jax")
    assert (before, after) == ("False", "True")
    assert told.startswith("JAX has already started, without ") and device_count_flag(7) in told


@pytest.mark.slow
def test_flags_reach_xla_and_what_is_compiled_the_cache(tmp_path):
    count = f"import jax; print(jax.local_device_count()){COUNT_FUSIONS}"
    prepare = f"from jaxgames import runtime; runtime.prepare(cores=3, multi_output_fusion={{}}, cache={str(tmp_path)!r}); "
    on_cpu = {"JAX_PLATFORMS": "cpu"}
    late = run_python(["-c", f"{count}{PREPARE}"], on_cpu)
    assert late.stdout.split() == ["1", "4"]  # should this fail one day, XLA may do without the flag
    assert late.returncode == 1
    assert "RuntimeError: JAX has already started, without XLA_FLAGS=" in late.stderr
    assert "call jaxgames.runtime.prepare() before" in late.stderr
    keep_all = "import jax; jax.config.update('jax_persistent_cache_min_compile_time_secs', 0.0); "
    assert output_of(prepare.format(False) + keep_all + count, on_cpu).split() == ["3", "4"]
    assert any(file.name.endswith("-cache") for file in tmp_path.iterdir())
    assert output_of(prepare.format(True) + count, on_cpu).split() == ["3", "2"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--xla_dump_max_hlo_modules=1", f"--xla_dump_max_hlo_modules=1 {FUSION} {SPLITTING} {device_count_flag(5)}"),
        ("--xla_backend_extra_options=xla_a,xla_b=2", f"--xla_backend_extra_options=xla_a,xla_b=2,{FUSION_OPTION} "),
        ("--xla_backend_extra_options=xla_a --xla_x=1", f"--xla_backend_extra_options=xla_a,{FUSION_OPTION} --xla_x=1 "),
        ('--xla_backend_extra_options="xla_a"', f'--xla_backend_extra_options="xla_a,{FUSION_OPTION}" '),
        (FUSION, FUSION),
        (f"{FUSION}=true,xla_a", f"{FUSION}=true,xla_a"),
        (device_count_flag(4), f"{device_count_flag(4)} {FUSION} {SPLITTING} {WIDTH}"),
        (f"{SPLITTING},other", f"{SPLITTING},other {FUSION} {device_count_flag(5)}"),
        (WIDTH.replace("512", "256"), f"{WIDTH.replace('512', '256')} {FUSION} {SPLITTING} {device_count_flag(5)}"),
    ],
)
def test_keeps_the_flags_of_the_user(given: str, expected: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XLA_FLAGS", given)
    before_it_starts(monkeypatch)
    monkeypatch.setattr(runtime, "usable_cores", lambda: 5)
    flags = runtime._environment(cores=None, multi_output_fusion=True)["XLA_FLAGS"]
    assert flags.startswith(expected) and flags.count("xla_cpu_prefer_vector_width") == 1
    assert flags.count(runtime.KERNEL_SPLITTING) == 1
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert runtime._environment(cores=None, multi_output_fusion=True)["XLA_FLAGS"] == flags, "added twice"


def test_equal_values_are_shared_between_kernels_on_accelerators_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    before_it_starts(monkeypatch)
    shared, split = "--xla_disable_hlo_passes=cpu-parallel-task-assigner ", f"{SPLITTING} "
    assert split in environment()["XLA_FLAGS"]
    assert shared in runtime._environment(cores=None, multi_output_fusion=False)["XLA_FLAGS"]
    monkeypatch.setattr(runtime, "will_run_on_cpus", lambda: False)
    assert shared in environment()["XLA_FLAGS"]


@pytest.mark.parametrize(
    ("platforms", "plugins", "package", "expected"),
    [
        (None, (), "", True),
        (None, ("cuda",), "", False),
        (None, (), "jax_plugins", False),
        (None, (), "libtpu", False),
        ("cpu", ("cuda",), "jax_plugins", True),
        ("cpu,cuda", (), "", False),
        ("tpu", (), "", False),
    ],
)
def test_what_counts_as_cpus_alone(platforms, plugins, package, expected, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runtime, "_platforms", lambda: platforms)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: plugins)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == package else None)
    assert runtime.will_run_on_cpus() is expected


@pytest.mark.slow
def test_tells_before_it_starts_whether_there_are_cpus_alone(tmp_path):
    ask = "from jaxgames import runtime; print(runtime.will_run_on_cpus(), runtime.backend_is_running())"
    assert output_of(ask, {"JAX_PLATFORMS": "cpu"}).split() == ["True", "False"]
    assert output_of(ask, {"JAX_PLATFORMS": "cuda,cpu"}).split() == ["False", "False"]
    (tmp_path / "jax_plugins").mkdir()
    with_plugin = {"JAX_PLATFORMS": "", "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    assert output_of(ask, with_plugin).split() == ["False", "False"]


def before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without accelerators, before JAX has started."""
    monkeypatch.setattr(runtime, "will_run_on_cpus", lambda: True)
    monkeypatch.setattr(runtime, "backend_is_running", lambda: False)


def environment(cores: int | None = None) -> dict[str, str]:
    """What `prepare` would put into the environment of this process."""
    return runtime._environment(cores=cores, multi_output_fusion=True)


def test_reads_a_file_of_flags(tmp_path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "flags.txt"
    file.write_text("--xla_dump_max_hlo_modules=1\n--xla_force_host_platform_device_count=2\n")
    monkeypatch.setenv("XLA_FLAGS", str(file))
    before_it_starts(monkeypatch)
    expected = f"--xla_dump_max_hlo_modules=1 {device_count_flag(2)} {FUSION} {SPLITTING} {WIDTH}"
    assert environment()["XLA_FLAGS"] == expected


def test_foreign_flags_are_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XLA_FLAGS", "no-such-file")
    with pytest.raises(ValueError, match=r"^XLA_FLAGS='no-such-file': must be flags"):
        environment()


@pytest.mark.slow
def test_arguments_go_before_the_environment(tmp_path):
    mine = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "mine")}
    code = f"""
import jax
from jaxgames import runtime
runtime.prepare(cores=3, cache={str(tmp_path / "given")!r})
print(jax.local_device_count("cpu"), jax.config.jax_compilation_cache_dir)
"""
    assert output_of(code, {"XLA_FLAGS": device_count_flag(2), **mine}) == f"3 {tmp_path / 'given'}"
    assert output_of(code, {"JAX_NUM_CPU_DEVICES": "2"}) == f"3 {tmp_path / 'given'}"
    code = code.replace("cores=3", "").replace(f", cache={str(tmp_path / 'given')!r}", "")
    assert output_of(code, {"JAX_NUM_CPU_DEVICES": "2", **mine}) == f"2 {tmp_path / 'mine'}"
    assert (tmp_path / "mine").is_dir()


def test_one_core_means_one_thread():
    assert environment(cores=1).get("PJRT_NPROC") == ("1" if runtime.usable_cores() > 1 else None)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_affinity_limits_the_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert environment()["XLA_FLAGS"].endswith(f"{device_count_flag(1)} {WIDTH}")
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("cores", [0, -1])
def test_impossible_cores_are_an_error(cores: int):
    with pytest.raises(ValueError, match=f"cores={cores}: must be >= 1"):
        runtime.prepare(cores=cores)


def test_importing_starts_no_backend():
    code = """
import importlib, pkgutil
import jaxgames, search, training
from jaxgames import runtime
for package in (jaxgames, search, training):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
        assert not runtime.backend_is_running(), module.name
print("none")
"""
    done = run_python(["-c", code])
    assert done.stdout.strip() == "none", done.stderr


@pytest.mark.slow
def test_a_cache_that_the_user_sets_late_is_kept(tmp_path):
    code = SHOW_CACHE.replace("import jax;", f"import jax, os; os.environ['JAX_COMPILATION_CACHE_DIR'] = {str(tmp_path)!r};")
    assert output_of(code) == str(tmp_path)


@pytest.mark.parametrize("off", [
    {"JAX_COMPILATION_CACHE_DIR": ""},
    pytest.param({"JAX_ENABLE_COMPILATION_CACHE": "false"}, marks=pytest.mark.slow),
])  # fmt: skip
def test_cache_can_be_switched_off(off: dict[str, str]):
    assert output_of(SHOW_CACHE, off) in ("", "None")


def test_cache_outside_a_checkout_is_the_users(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runtime, "__file__", str(tmp_path / "site-packages" / "jaxgames" / "runtime.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert runtime._default_cache() == tmp_path / "caches" / "jaxgames" / "jax"


@pytest.mark.slow
def test_an_unwritable_cache_is_a_warning(tmp_path):
    file = tmp_path / "file"
    file.write_text("")  # no folder can be made below a file, not even by root
    done = run_python(["-c", f"{SHOW_CACHE}; runtime.prepare()"], {"JAX_COMPILATION_CACHE_DIR": str(file / "cache")})
    assert done.returncode == 0
    assert done.stdout.strip() == "None"
    assert f"UserWarning: compilation cache {file / 'cache'}: Not a directory" in done.stderr
    assert '"<string>", line 1' in done.stderr or "<string>:1:" in done.stderr, "the warning names the caller's line"


def test_quota_of_a_container(monkeypatch: pytest.MonkeyPatch):
    for text, cores in (("200000 100000", 2), ("150000 100000", 1), ("50000 100000", 1), ("max 100000", os.cpu_count())):
        monkeypatch.setattr(runtime.Path, "read_text", lambda *_, text=text, **__: text)
        assert runtime._quota_cores() == cores


@pytest.mark.slow
def test_data_mesh_splits_over_all_devices():
    code = """
from jaxgames import runtime
runtime.prepare(cores=4)
import jax
mesh = runtime.data_mesh()
print(mesh.axis_names, mesh.size, mesh.axis_types == (jax.sharding.AxisType.Auto,), runtime.data_mesh(2).size)
games = jax.device_put(jax.numpy.arange(8), jax.NamedSharding(mesh, jax.P("data")))
print([int(shard.data[0]) for shard in games.addressable_shards], int(games[5]))
"""
    lines = output_of(code, {"JAX_PLATFORMS": "cpu"}).splitlines()
    assert lines == ["('data',) 4 True 2", "[0, 2, 4, 6] 5"]


@pytest.mark.parametrize("num_devices", [0, 1000])
def test_data_mesh_of_impossible_size_is_an_error(num_devices: int):
    with pytest.raises(ValueError, match=rf"num_devices={num_devices}: must be in 1\.\.{jax.local_device_count()}"):
        runtime.data_mesh(num_devices)


def test_free_memory_is_that_of_the_devices_one_asks_for(monkeypatch):
    devices = [SimpleNamespace(memory_stats=lambda free=free: {"bytes_limit": free + 1, "bytes_in_use": 1}) for free in (5, 7, 9)]
    monkeypatch.setattr(runtime.jax, "local_devices", lambda: devices)
    assert runtime.free_memory() == 21 and runtime.free_memory(devices[:1]) == 5 and runtime.free_memory(iter(devices[1:])) == 16
