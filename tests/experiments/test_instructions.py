"""Counting instructions: of code written by hand, of kernels that XLA makes, and the table."""

import dataclasses
import json
import platform
import shutil

import jax.numpy as jnp
import pytest

from experiments import caches
from experiments.instructions import command, machine_code, pieces
from experiments.instructions.command import InstructionsConfig
from experiments.instructions.machine_code import Counts, Line
from experiments.instructions.pieces import Piece, Work
from tests.processes import output_of
from training.storage import provenance

# A loop of 32 rounds (0x800 bytes, 64 at a time) in one of 4, which counts down to nothing; then a spill and the end.
CODE = """
mov $0xfffffffffffffff0,%rdi
xor %eax,%eax
vmovdqu64 (%rsi,%rax,1),%zmm0
vpxorq (%rdx,%rax,1),%zmm0,%zmm0
vmovdqu64 %zmm0,(%rcx,%rax,1)
add $0x40,%rax
cmp $0x800,%rax
jne 2
add $0x4,%rdi
jne 1
vmovdqa64 %zmm1,0x40(%rsp)
vpgatherdd (%rsi,%zmm2,4),%zmm3{%k1}
vmovss (%rsi),%xmm4
ret
"""


def lines_of(code: str) -> list[Line]:
    found = (line.partition(" ") for line in code.split("\n") if line)
    return [Line(place, name, operands) for place, (name, _, operands) in enumerate(found)]


def test_what_stands_in_loops_is_done_as_often_as_they_go_round():
    counts = machine_code.of_lines(lines_of(CODE))
    assert counts.compute == 4 * 32 and counts.gathers == 1
    assert counts.moves == 4 * 32 * 2 + 1 and counts.stack == 1
    assert counts.scalar == 1 + 4 * (1 + 3 * 32 + 2) + 2
    assert counts.open_loops == 0


@pytest.mark.parametrize(
    ("kind", "names"),
    {
        "compute": ("vpaddd", "vpminsd", "vpmaxsd", "vpabsd", "vaddps", "vsqrtps", "kandw"),
        "scalar": ("vaddss", "vmulsd", "vcvttss2si", "vsqrtss", "vmovd", "vzeroupper", "add"),
    }.items(),
)
def test_what_works_on_one_number_is_no_work_on_vectors(kind, names):
    for name in names:
        counts = dataclasses.asdict(machine_code.of_lines([Line(0, name, "%xmm0,%xmm1,%xmm2")]))
        assert [each for each, number in counts.items() if number] == [kind], name


def test_a_loop_without_a_length_is_told():
    counts = machine_code.of_lines(lines_of("vpaddd %zmm0,%zmm1,%zmm2\ntest %rax,%rax\njne 0\nret"))
    assert counts.compute == 1 and counts.open_loops == 1


def test_loops_that_overlap_are_one():
    counts = machine_code.of_lines(lines_of("nop\nvpaddd %zmm0,%zmm1,%zmm2\nadd $0x1,%rax\njb 0\ncmp $0x8,%rax\njne 1\nret"))
    assert counts.compute == 8


def test_counts_add_up():
    twice = Counts(compute=1, moves=2, gathers=3).times(2)
    assert (twice + Counts(scalar=1)).on_vectors == 12
    with pytest.raises(ValueError, match="piece='hex/nothing': must be one of hex/flood_pass, "):
        InstructionsConfig(pieces=("hex/nothing",))
    with pytest.raises(ValueError, match="batches=\\(0,\\): must be numbers of lanes, each at least 1"):
        InstructionsConfig(batches=(0,))


def test_without_a_disassembler_it_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match="instructions: needs objdump, of the package binutils"):
        machine_code.disassemble(tmp_path / "kernel.o")


DOUBLE = Piece("a/double", "", lambda keys: Work(keys.first), lambda work: work.moving * 2)


@pytest.mark.parametrize("piece", [DOUBLE, pytest.param(pieces.PIECES[0], marks=pytest.mark.slow)], ids=lambda piece: piece.name)
def test_rounds_work_on_what_the_round_before_has_left(piece):
    work = pieces.start(piece, 8)
    assert (pieces.rounds(piece, 3)(work, jnp.uint32(0)) == pieces.rounds(piece, 1)(work, jnp.uint32(0))).all()
    changed = pieces.rounds(piece, 3)(work, jnp.uint32(0xFFFFFFFF))
    assert (changed != pieces.rounds(piece, 1)(work, jnp.uint32(0xFFFFFFFF))).any()


def test_the_table_shows_how_far_from_full_rate_a_piece_is():
    counts = dataclasses.asdict(Counts(compute=40, moves=24, scalar=9))
    row = {"piece": "hex/step", "kernels": 2, "bytes": 100, "nanoseconds": {"64": 4.0, "256": 2.0}, **counts}
    slow, uncertain = row | {"nanoseconds": {"64": 6.0}, "kernels": 9}, row | {"nanoseconds": {"64": 1.0}, "open_loops": 1}
    *_, first, second, third = command.table([row, slow, uncertain]).splitlines()
    assert first.endswith("| 2 | 40 | 24 | 0 | 0 | 9 | 0 | 100 | 2 (256) | 2.0 | 1.0 |")
    assert second.endswith("| 6 (64) | 0.7 | 3.0 |")
    assert third.endswith("| 1 | 100 | 1 (64) | 4.0 | 0.5 |"), "what is not counted for sure is no measure"


def test_the_best_batch_for_each_cache_is_of_those_that_it_holds(tmp_path):
    for index, (level, kind, size) in enumerate([("1", "Data", "32K"), ("1", "Instruction", "64K"), ("2", "Unified", "1M")]):
        for name, value in {"level": level, "type": kind, "size": size}.items():
            (tmp_path / f"index{index}").mkdir(exist_ok=True)
            (tmp_path / f"index{index}" / name).write_text(f"{value}\n")
    known = caches.read(tmp_path)
    assert known == {"L1": 2**15, "L2": 2**20}
    times = {"16": 9.0, "32": 5.0, "64": 7.0, "512": 6.0, "1024": 6.5, "2048": 8.0}
    assert caches.fastest_in_each(known, 1024, times) == {"L1": (32, 5.0), "L2": (512, 6.0), "memory": (2048, 8.0)}
    (tmp_path / "index3").mkdir()  # of which nothing is told
    assert caches.read(tmp_path) == known and caches.read(tmp_path / "nothing") == {}
    row = {"piece": "hex/step", "needs": 1024, "caches": known, "nanoseconds": {"32": 5.0, "2048": 8.0}}
    shown = command.table_of_caches([row])
    head, _, line = shown.splitlines()
    assert head == "| piece | bytes of a lane | L1, 32 kB | L2, 1024 kB | memory |"
    assert line == "| `hex/step` | 1024 | 5 (32) | – | 8 (2048) |"


def test_batches_that_do_not_fit_into_memory_are_left_out(monkeypatch):
    monkeypatch.setattr(command.runtime, "free_memory", lambda: 10_000)
    assert command.those_that_fit((48, 240, 480), 10.0) == [48, 240, 480]
    assert command.those_that_fit((48, 240, 480), 20.0) == [48, 240]
    with pytest.raises(ValueError, match=r"batches=\(48, 240\): there is no memory for any of them, with 500 bytes a lane"):
        command.those_that_fit((48, 240), 500.0)


def test_a_table_is_of_one_processor(monkeypatch):
    monkeypatch.setattr(provenance, "cpu_name", lambda: "AMD EPYC, no AVX-512")
    with pytest.raises(ValueError, match=r"^write=True: the table is of AMD EPYC, and this is AMD EPYC, no AVX-512; leave out"):
        command._check_device()


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("objdump"), reason="reads the code of this kind of core")
def test_the_code_of_xla_is_read():
    """In a process of its own, as XLA is told when it starts to leave its object files."""
    code = """
from experiments.instructions import command, pieces
command.run(command.InstructionsConfig(pieces=("hex/flood_pass",), batches=(64,)))
"""
    row = json.loads(output_of(code, {"JAX_PLATFORMS": "cpu"}))
    assert row["piece"] == "hex/flood_pass" and row["open_loops"] == 0
    # Four words: six neighbours each of two shifts mostly, and what puts them together.
    vectors = 2 if "no AVX-512" in provenance.cpu_name() else 1  # of half as many lanes each
    assert 45 <= (row["compute"] + row["moves"]) / vectors <= 120 and row["gathers"] == 0
    assert row["nanoseconds"]["64"] > 0 and row["kernels"] <= 3


def test_a_piece_is_run_on_every_lane():
    work = pieces.start(DOUBLE, 8)
    assert (pieces.rounds(DOUBLE, 1)(work, jnp.uint32(0)) == work.moving * 2).all()
