"""The page of AlphaZe**'s results, from what has been measured."""

from __future__ import annotations

import numpy as np

from experiments.papers.alphaze import (
    HUGE,
    LADDER_GAMES,
    LARGE,
    NUMBERS_OF_SAMPLES,
    SMALL,
    TINY,
    TSL_EPOCHS,
    VARIANTS,
    Plan,
    Run,
    rival_name,
    speeds,
)
from experiments.papers.cells import stored
from experiments.papers.tables import interval, markdown
from training.jobs.curves import alphaze_figure
from training.play.exploitability import ResponseConfig
from training.storage.files import write_atomically


def write_page(plan: Plan) -> None:
    """Writes docs/results/alphaze.md and its figures from what has been measured."""
    curves = [(run.title, [one["curve"] for one in found]) for run in VARIANTS if (found := _seeds(plan, run))]
    parts = [_HEAD, _exact_table(plan), _response_table(plan), _variants_table(plan)]
    if curves:
        write_atomically(plan.folder / "alphaze_learning.svg", alphaze_figure(curves))
        parts.append("![learning on 5 x 5 cells](alphaze_learning.svg)")
    parts += [_epochs_table(plan), _table6(plan), _samples_table(plan), _time_table(plan), _elo_table(plan)]
    write_atomically(plan.folder / "alphaze.md", "\n\n".join(part for part in parts if part) + "\n")


_HEAD = """# AlphaZe** in DarkHex

Made by `python scripts/results.py alphaze`; abrupt DarkHex throughout. What was not measured yet is left out or shown as "–".
The paper trains for days on three GPUs (409 600 searches per epoch of 800 nodes per world); these are runs of minutes on two CPU
cores with tiny networks, so it is the order of the methods that can be compared, not their strength. Minutes are by the clock, on
cores that did other work too. Intervals in brackets: 95 % (Wilson)."""


_RESPONSE_GAMES = ResponseConfig.final_games


def _settings(found: dict) -> str:
    learn, who = found["settings"]["learn"], found["settings"]["who"]
    text = f"Network `{who['network']}`, {learn['num_worlds']} worlds x {learn['num_simulations']} simulations, "
    return text + f"{found['searches']} searches in {found['games']} games, {found['seconds'] / 60:.1f} minutes."


def _seeds(plan: Plan, run: Run) -> list[dict]:
    return [found for seed in range(run.seeds) if (found := stored(f"{run.name}-seed{seed}", plan.data))]


def _exact_table(plan: Plan) -> str:
    run, found = stored(TINY.name, plan.data), stored(f"{TINY.name}-exact", plan.data)
    if not run or not found:
        return ""
    rows = [[str(row["epoch"]), f"{row['drawn']:.3f}", f"{row['greedy']:.3f}"] for row in found["rows"]]
    text = (
        "Exploitability as OpenSpiel computes it (random play has 0.417), of the policy of the search and of its best action. It "
        "does not fall to 0: searches of drawn worlds play as if all were seen after the next action (strategy fusion), and who "
        "always takes the best action is easy to see through."
    )
    return f"## 2 x 2, exactly\n\n{text} {_settings(run)}\n\n" + markdown(["epoch", "drawn by the policy", "best action"], rows)


def _response_table(plan: Plan) -> str:
    run, found = stored(SMALL.name, plan.data), stored(f"{SMALL.name}-response", plan.data)
    if not run or not found:
        return ""
    bound = stored(f"{SMALL.name}-bound", plan.data)
    rows = []
    for row in found["rows"]:
        cells = [str(row["epoch"]), *(f"{100 * row[seat]:.1f}" for seat in ("first", "second"))]
        both = interval(round(found["games"] * (row["first"] + row["second"]) / 2), found["games"])
        responses = [interval(round(_RESPONSE_GAMES * row[name]), _RESPONSE_GAMES) for name in ("response", "response_to_drawn")]
        rows.append([*cells, both, *responses])
    text = (
        "Points against a random player (1000 games), and what a response wins that was trained against the frozen player for "
        "10 000 games and knows its view and seat: a lower bound of what can be won. The player takes the best action of each "
        "search, or draws by the policy that it finds."
    )
    if bound:
        cells = [f"{100 * bound[seat]:.1f}" for seat in ("first", "second")]
        both = 50 * (bound["first"] + bound["second"])
        rows.append(["best reply", *cells, f"{both:.1f}", "–", "–"])
        text += (
            " The last row is exact: nobody can make more against the random player (`training/random_bound.py` goes through all "
            f"sequences of attempts): more than {both:.1f} % as either colour on average cannot be had on this board, and what "
            "is trained comes as near to it as these games can tell. Who always takes the best action varies little, and whoever "
            "has learnt that wins nearly always; drawn actions give away less, and less the longer it was trained."
        )
    head = ["epoch", "first, %", "second, %", "both, %", "response to the best action wins, %", "to drawn actions, %"]
    return f"## 3 x 3\n\n{text} {_settings(run)}\n\n" + markdown(head, rows)


def _variants_table(plan: Plan) -> str:
    rows = []
    for run in VARIANTS:
        found = _seeds(plan, run)
        if not found:
            continue
        last = [[r["score_against_random"] for r in one["curve"] if "score_against_random" in r][-1] for one in found]
        first = [next(r["score_against_random"] for r in one["curve"] if "score_against_random" in r) for one in found]
        cells = [f"{100 * np.mean(scores):.1f}" for scores in (first, last)]
        spread = f"{100 * min(last):.0f}–{100 * max(last):.0f}" if len(last) > 1 else "–"
        minutes, speed = (np.mean([one[name] for one in found]) for name in ("seconds", "searches_per_second"))
        rows.append([run.title, *cells, spread, str(len(found)), f"{minutes / 60:.1f}", f"{speed:.0f}"])
    if not rows:
        return ""
    head = ["variant", "after epoch 1, %", "at the end, %", "least and most", "seeds", "minutes", "searches/s"]
    one = _seeds(plan, VARIANTS[0])
    text = f"Points against a random player (200 games); TSL and Hex: the first {TSL_EPOCHS} of 12 epochs were such games. "
    text += _settings(one[0]) if one else ""
    return f"## 5 x 5, learning\n\n{text}\n\n" + markdown(head, rows)


def _epochs_table(plan: Plan) -> str:
    found = [one for run in VARIANTS if (one := stored(f"{run.name}-epochs", plan.data))]
    if not found:
        return ""
    rows = [[one["title"], *(interval(row["wins"], row["games"]) for row in one["rows"])] for one in found]
    text = (
        "Points in per cent against the last network of TSL + PC-PIMC, both with the search of training; 200 games each. The "
        "first seeds. TSL and Hex have the same games as long as they last, because who sees everything runs into nothing; then "
        "those of Hex begin anew. What lies between these two rows at the end is therefore chance, and differences of that size "
        "between other rows may be too."
    )
    head = ["epoch", *(str(row["epoch"]) for row in found[0]["rows"])]
    return f"## 5 x 5, strength over epochs (Fig. 5A)\n\n{text}\n\n" + markdown(head, rows)


def _table6(plan: Plan) -> str:
    rows = []
    for samples in plan.samples:
        for run in VARIANTS:
            found = stored(rival_name(run, samples), plan.data)
            if found:
                rows.append([str(samples), run.title, interval(found["wins"], found["games"]), str(found["games"])])
    if not rows:
        return ""
    text = (
        f"Points against TSL + PC-PIMC with 12 samples (Table 6); {plan.nodes} nodes per world for both, where the paper gives "
        "milliseconds or 800 nodes."
    )
    return f"## 5 x 5, samples\n\n{text}\n\n" + markdown(["samples", "player", "points, %", "games"], rows)


def _samples_table(plan: Plan) -> str:
    found = [one for samples in NUMBERS_OF_SAMPLES if (one := stored(f"hex-8x8-by-samples-{samples}", plan.data))]
    if not found:
        return ""
    rows = [[str(one["samples"]), interval(one["wins"], one["games"]), str(one["games"])] for one in found]
    run = stored(LARGE.name, plan.data)
    text = "Points of PC-PIMC against PIMC with the same network and as many worlds (Fig. 6A). "
    text += _settings(run) if run else ""
    return f"## 8 x 8, PC-PIMC against PIMC\n\n{text}\n\n" + markdown(["samples", "points of PC-PIMC, %", "games"], rows)


def _time_table(plan: Plan) -> str:
    rows = []
    for name, _ in speeds(plan):
        if found := stored(name, plan.data):
            size = found["mode"].removeprefix("adh-")
            rows.append([f"{size} x {size}", str(found["samples"]), f"{found['cpu_seconds_per_game']:.3g}"])
    if not rows:
        return ""
    text = "CPU seconds per game (both players, 32 simulations per world, network `tiny`), 16 games at a time (Fig. 6B)."
    return f"## Time per game\n\n{text}\n\n" + markdown(["board", "samples", "CPU s per game"], rows)


def _elo_table(plan: Plan) -> str:
    run, found = stored(HUGE.name, plan.data), stored(f"{HUGE.name}-elo", plan.data)
    if not run or not found:
        return ""
    columns = zip(found["names"], found["elo"], found["elo_standard_error"], strict=True)
    rows = [[name, f"{rating:+.0f} ± {1.96 * error:.0f}"] for name, rating, error in columns]
    text = f"Round robin, {LADDER_GAMES} games per pair; {run['searches_per_second']:.0f} searches per second while training."
    return f"## 11 x 11 (Fig. 5B)\n\n{text} {_settings(run)}\n\n" + markdown(["player", "Elo"], rows)
