"""The page of AlphaZe**'s results, from what has been measured."""

from __future__ import annotations

import numpy as np

from experiments.pages import NONE, markdown
from experiments.papers.alphaze import (
    NUMBERS_OF_SAMPLES,
    PARTS,
    VARIANTS,
    AlphazePlan,
    drawn_worlds,
    eight,
    eleven,
    epochs,
    rivals,
    speeds,
    three,
    two,
    variants,
)
from experiments.papers.alphaze_choices import certainty, choices, flattened
from experiments.papers.alphaze_duel import LONG, MATCHES, RIVALS, by_nodes, by_worlds, duel, duels, long_runs, meetings
from experiments.papers.measured import Page, Runs, of_groups
from experiments.papers.tables import interval, rate_of_seeds
from training.jobs.curves import alphaze_figure
from training.play.exploitability import ResponseConfig


def texts(plan: AlphazePlan) -> dict[str, str]:
    """Makes the tables and numbers of the page."""
    seeds = _seeds(plan)
    runs = {str(size): plan.found(part(plan)).get("run") for size, part in ((2, two), (3, three), (8, eight), (11, eleven))}
    runs["5"] = seeds[VARIANTS[0]][0] if VARIANTS[0] in seeds else None
    return {
        **{f"run-{size}": _settings(run) for size, run in runs.items()},
        "exact": _exact_table(plan),
        **_response_table(plan),
        "variants": _variants_table(seeds),
        "epochs": _epochs_table(plan),
        "rivals": _rivals_table(plan),
        "samples": _samples_table(plan),
        "long": _variants_table(of_groups(plan.found(long_runs(plan)), tuple(LONG.values()))),
        "duels": _duels_table(plan),
        "nodes": _nodes_table(plan),
        "worlds": _worlds_table(plan),
        "choices": _choices_table(plan),
        "flattened": _flattened_table(plan),
        "drawn": _drawn_table(plan),
        "time": _time_table(plan),
        "elo": _elo_table(plan),
        "speed": _speed([runs["11"]]) if runs["11"] else "",
    }


def figures(plan: AlphazePlan) -> dict[str, str]:
    """Draws the figure of the page, if there is anything to draw."""
    curves = [(run.title, [one["curve"] for one in found]) for run, found in _seeds(plan).items()]
    return {"alphaze_learning": alphaze_figure(curves)} if curves else {}


_ALL = PARTS | {"duel": duel, "meetings": meetings, "certainty": certainty}
PAGE = Page("alphaze", AlphazePlan, _ALL, ("jaxgames/hex", "search", "training"), texts, figures)


def _seeds(plan: AlphazePlan) -> dict[Runs, list[dict]]:
    """What has been trained of each variant, by seed."""
    return of_groups(plan.found(variants(plan)), VARIANTS)


def _settings(found: dict | None) -> str:
    if not found:
        return ""
    learn, who = found["settings"]["learn"], found["settings"]["who"]
    text = f"Network `{who['network']}`, {learn['num_worlds']} worlds x {learn['num_simulations']} simulations, "
    return text + f"{found['searches']} searches in {found['games']} games, {found['seconds'] / 60:.1f} minutes."


def _exact_table(plan: AlphazePlan) -> str:
    found = plan.found(two(plan)).get("exact", {"rows": []})
    rows = [[str(row["epoch"]), f"{row['drawn']:.3f}", f"{row['greedy']:.3f}"] for row in found["rows"]]
    return markdown(["epoch", "drawn by the policy", "best action"], rows)


def _response_table(plan: AlphazePlan) -> dict[str, str]:
    """Points against a random player and of trained responses; and the most that anyone can make, which the text names too."""
    found = plan.found(three(plan))
    response, bound = found.get("response", {"rows": []}), found.get("bound")
    games, rows, most = ResponseConfig.final_games, [], ""
    for row in response["rows"]:
        both = interval(round(response["games"] * (row["first"] + row["second"]) / 2), response["games"])
        replies = [interval(round(games * row[name]), games) for name in ("response", "response_to_drawn")]
        rows.append([str(row["epoch"]), *(f"{100 * row[seat]:.1f}" for seat in ("first", "second")), both, *replies])
    if bound:
        most = f"{50 * (bound['first'] + bound['second']):.1f}"
        rows.append(["best reply", *(f"{100 * bound[seat]:.1f}" for seat in ("first", "second")), most, NONE, NONE])
    head = ["epoch", "first, %", "second, %", "both, %", "response to the best action wins, %", "to drawn actions, %"]
    return {"responses": markdown(head, rows), "most": most}


def _variants_table(seeds: dict[Runs, list[dict]]) -> str:
    rows = []
    for run, found in seeds.items():
        scores = [[row["score_against_random"] for row in one["curve"] if "score_against_random" in row] for one in found]
        last = [100 * each[-1] for each in scores]
        cells = [f"{100 * np.mean([each[0] for each in scores]):.1f}", f"{np.mean(last):.1f}"]
        spread = f"{min(last):.0f}–{max(last):.0f}" if len(last) > 1 else NONE
        minutes = np.mean([one["seconds"] for one in found]) / 60
        rows.append([run.title, *cells, spread, str(len(found)), f"{minutes:.1f}", _speed(found)])
    head = ["variant", "after epoch 1, %", "at the end, %", "least and most", "seeds", "minutes", "searches/s"]
    return markdown(head, rows)


def _speed(found: list[dict]) -> str:
    """Shows the searches per second of some runs, their mean; a run of one iteration has none."""
    speeds = [one["searches_per_second"] for one in found if one["searches_per_second"] is not None]
    return f"{np.mean(speeds):.0f}" if speeds else NONE


def _epochs_table(plan: AlphazePlan) -> str:
    found = list(plan.found(epochs(plan)).values())
    rows = [[one["title"], *(interval(row["wins"], row["games"]) for row in one["rows"])] for one in found]
    return markdown(["epoch", *(str(row["epoch"]) for row in found[0]["rows"])] if found else [], rows)


def _rivals_table(plan: AlphazePlan) -> str:
    found = plan.found(rivals(plan))
    rows = [[str(samples), run.title, *_points(one)] for (samples, run), one in found.items()]
    return markdown(["samples", "player", "points, %", "games"], rows)


def _samples_table(plan: AlphazePlan) -> str:
    found = plan.found(eight(plan))
    rows = [[str(samples), *_points(one)] for samples, one in found.items() if samples != "run"]
    return markdown(["samples", "points of PC-PIMC, %", "games"], rows)


def _points(one: dict) -> list[str]:
    return [interval(one["wins"], one["games"]), str(one["games"])]


def _time_table(plan: AlphazePlan) -> str:
    rows = []
    for (mode, samples), one in plan.found(speeds(plan)).items():
        size = mode.removeprefix("adh-")
        rows.append([f"{size} x {size}", str(samples), f"{one['cpu_seconds_per_game']:.3g}"])
    return markdown(["board", "samples", "CPU s per game"], rows)


def _elo_table(plan: AlphazePlan) -> str:
    found = plan.found(eleven(plan)).get("elo")
    columns = zip(*(found[name] for name in ("names", "elo", "elo_standard_error")), strict=True) if found else ()
    return markdown(["player", "Elo"], [[name, f"{rating:+.0f} ± {1.96 * error:.0f}"] for name, rating, error in columns])


def _drawn_table(plan: AlphazePlan) -> str:
    """Points of players without networks against each other."""
    found = plan.found(drawn_worlds(plan))
    rows = [
        [f"`{first}`", f"`{second}`", interval(one["wins"], one["games"]), str(one["games"])]
        for (first, second), one in found.items()
    ]
    return markdown(["player", "against", "points, %", "games"], rows)


def _nodes_table(plan: AlphazePlan) -> str:
    """Points of PC-PIMC with the same network as its rival, by the nodes."""
    rows = [
        [RIVALS[rival], str(count), LONG[network].title, interval(one["wins"], one["games"]), str(one["games"])]
        for (rival, count, network), one in plan.found(by_nodes(plan)).items()
    ]
    return markdown(["against", "nodes per world", "network of", "points of PC-PIMC, %", "games"], rows)


def _worlds_table(plan: AlphazePlan) -> str:
    """The same by the worlds: a row for each number of them, a column for each rival."""
    found = plan.found(by_worlds(plan))
    rows = []
    for count in NUMBERS_OF_SAMPLES:
        cells = [found.get((rival, count)) for rival in RIVALS]
        if any(cells):
            rows.append([str(count), *(interval(one["wins"], one["games"]) if one else NONE for one in cells)])
    return markdown(["worlds", *(f"against {title}, %" for title in RIVALS.values())], rows)


def _choices_table(plan: AlphazePlan) -> str:
    """What both searches choose in the same positions and worlds, by the network and the nodes."""
    rows = []
    for network, found in plan.found(choices(plan)).items():
        for row in found["rows"]:
            shares = [f"{100 * row[name]:.0f}" for name in ("first", "differ")]
            values = [f"{value:+.3f}" for value in (*row["values"], found["best"])]
            rows.append([LONG[network].title, str(row["nodes"]), f"{row['tried']:.1f}", *shares, *values])
    head = ["network of", "nodes per world", "actions tried", "weight of the first, %", "choices that differ, %"]
    return markdown([*head, "value of PC-PIMC's", "of PIMC's", "of the best"], rows)


def _flattened_table(plan: AlphazePlan) -> str:
    """Points of PC-PIMC against PIMC, with the network's priors and with flattened ones."""
    plain = {(count, network): one for (rival, count, network), one in plan.found(by_nodes(plan)).items() if rival == "pimc"}
    found = plan.found(flattened(plan))
    rows = []
    for count, network in dict.fromkeys((count, network) for count, network, _ in found):
        columns = (plain.get((count, network)), *(found.get((count, network, both)) for both in (False, True)))
        shown = [interval(one["wins"], one["games"]) if one else NONE for one in columns]
        rows.append([str(count), LONG[network].title, *shown])
    head = ["nodes per world", "network of", "priors as the network gives them, %", "flattened for PC-PIMC, %", "for both, %"]
    return markdown(head, rows)


def _duels_table(plan: AlphazePlan) -> str:
    """Points of what PC-PIMC stands for, all seeds together and one by one."""
    matches: dict[tuple[str, int], list[dict]] = {}
    for (title, epoch, _), one in plan.found(duels(plan)).items():
        matches.setdefault((title, epoch), []).append(one)
    rows = []
    for (title, epoch), seeds in sorted(matches.items(), key=lambda match: list(MATCHES).index(match[0][0])):
        each = ", ".join(f"{100 * one['wins'] / one['games']:.1f}" for one in seeds)
        rows.append([title, str(epoch), rate_of_seeds(seeds, "wins"), each, str(sum(one["games"] for one in seeds))])
    return markdown(["what differs", "epoch", "points of PC-PIMC, % (lowest–highest)", "by seed", "games"], rows)
