"""Searches of Hex beside mctx, and random games beside other libraries."""

import dataclasses

import jax
import numpy as np
import pytest

from experiments.benchmark import Request, find, hex, measure, peers, records, table
from experiments.benchmark.harness import time_program
from jaxgames import runtime


def search_beside_mctx(values: str, num_simulations: int = 30) -> dict:
    """Measures a small search, on a board that ten stones cannot join."""
    name = {"hash": "hex/puct_100", "constant": "hex/puct_100_constant"}[values]
    case = dataclasses.replace(find(name), measure=hex.beside_mctx(num_simulations, size=7, values=values))
    return measure(case, Request(name, batch=2, repeats=5))


@pytest.mark.parametrize("values, other", [("hash", 0), ("hash", 1), ("constant", 1)])
def test_a_search_that_differs_from_mctx_is_an_error_unless_ties_are_broken_by_noise(monkeypatch, values, other):
    found = {"cpu_seconds": 1.0, "compile_seconds": 1.0, "visits": [5, 6 + other]}
    monkeypatch.setattr(peers, "ask", lambda name, **arguments: found)
    monkeypatch.setattr(hex, "_digests", lambda *arguments: np.array([5, 6], np.uint32))
    monkeypatch.setattr(hex, "time_program", lambda *arguments: {"per_cpu_second": 4.0, "details": {"mean_depth": 3.0}})
    if values == "hash" and other:
        with pytest.raises(RuntimeError, match=r"lanes_with_the_same_visits=0\.5: must be 1"):
            search_beside_mctx(values)
    else:
        details = search_beside_mctx(values)["details"]
        assert details["lanes_with_the_same_visits"] == (0.5 if other else 1)
        assert (details["cpu_seconds_per_batch"], details["times_mctx"], details["mean_depth"]) == (0.5, 2.0, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("values", ["hash", "constant"])
def test_a_search_is_compared_with_mctx(values):
    row = search_beside_mctx(values)
    records.check(row)
    assert row["settings"]["values"] == values and row["details"]["times_mctx"] > 0
    assert values == "constant" or row["details"]["lanes_with_the_same_visits"] == 1


def test_random_games_name_the_peers_that_are_there(monkeypatch):
    monkeypatch.setattr(hex, "play", lambda batch: None)
    monkeypatch.setattr(hex, "time_program", lambda *arguments: {"per_cpu_second": 1e6, "details": {}})
    monkeypatch.setattr(peers, "ask", lambda name, **sizes: {"per_cpu_second": 2e4} if name == "open_spiel" else None)
    row = measure(find("hex/dark_random"), Request("hex/dark_random", batch=2))
    assert row["details"] == {"open_spiel_per_cpu_second": 20000.0, "times_open_spiel": 50.0}
    assert table._peers(find("hex/dark_random"), row) == "50x OpenSpiel, from Python (2e+04/s)"


def test_open_spiel_plays(monkeypatch):
    monkeypatch.setattr(peers, "PLAIN_SECONDS", 0.01)
    assert peers.open_spiel_dark_hex(size=3, batch=1, seed=0)["per_cpu_second"] > 100


@pytest.mark.slow
def test_pgx_plays():
    pytest.importorskip("pgx")
    assert peers.ask("pgx", size=11, batch=2, seed=0)["per_cpu_second"] > 0


@pytest.mark.slow
def test_a_peer_that_cannot_be_run_has_no_number(capfd):
    assert peers.ask("no such peer") is None
    assert "no such peer" in capfd.readouterr().err


@pytest.mark.slow
def test_step_and_search_fit_their_shapes():
    functions = hex.step_and_search(3)
    states = jax.eval_shape(functions["step"][0], *functions["step"][1])
    plan, _ = jax.eval_shape(functions["search"][0], *functions["search"][1])
    assert states.terminated.shape == (3,) and plan.visit_counts.shape[0] == hex.PUCT_SIZES[100]


@pytest.mark.slow
def test_games_and_worlds_of_small_boards():
    for program in (hex.play(4, steps=64, size=3), hex.worlds(4, calls=2, size=3)):
        figures = time_program(program, Request("hex", repeats=5), runtime.data_mesh(), 4)
        assert figures["per_cpu_second"] > 0
