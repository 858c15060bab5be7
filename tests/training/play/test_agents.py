"""Agents by name: which there are, what may be set, weights, errors."""

import dataclasses

import pytest

import jaxgames
from jaxgames import others
from jaxgames.agent import memoryless
from jaxgames.registration import AgentEntry
from jaxgames.specs import kinds_of, values_of
from search import entries, presets
from tests.training.tiny import drawn
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play import agents
from training.storage.weights import save_weights

GAMES = {name: jaxgames.make(*name.split("/")) for name in ("pommerman/ffa", "hex/adh-3", "hex/hex-3", "hero_academy/tiny")}
PLANNERS = [(game, entry) for game in GAMES for entry in presets.planners_of(GAMES[game]).values()]


@pytest.mark.parametrize(
    ("game", "names"),
    [
        (
            "pommerman/ffa",
            "simple simple_unbiased random careful fdts mcts mcts_no_rollout mcs oep rolling_horizon "
            "sp_mcts tp_mcts modelled_fdts modelled_mcts follower network",
        ),
        (
            "hex/adh-3",
            "random path fdts mcts mcts_no_rollout mcs oep rolling_horizon pc_pimc medoid pimc pimc_value ismcts true_sight "
            "determinized_fdts determinized_mcts determinized_mcts_no_rollout determinized_mcs determinized_oep "
            "determinized_rolling_horizon follower network",
        ),
        (
            "hero_academy/tiny",
            "random best_rated greedy_action greedy_turn mcts mcts_non_exploring mcts_bridge_burning oep oep_replies "
            "rolling_horizon puct follower network",
        ),
    ],
)
def test_every_agent_once(game, names):
    assert agents.names_of(GAMES[game]) == tuple(names.split())
    clash = agents.names_of(jaxgames.make("clash"))
    expected = "fdts mcts mcts_no_rollout mcs oep rolling_horizon sp_mcts tp_mcts modelled_fdts modelled_mcts"
    assert clash == ("random", "guard", "counter", *expected.split(), "follower", "network"), "both move at once"
    assert "puct" in agents.names_of(GAMES["hex/hex-3"]) and "puct" not in agents.names_of(jaxgames.make("pommerman", "team"))


def other(value):
    """Another value that a setting may well have, as text."""
    if isinstance(value, bool):
        return str(int(not value)), not value
    if isinstance(value, int):
        return str(2 * value or 4), 2 * value or 4
    if isinstance(value, float):
        return str(value / 2 or 0.5), value / 2 or 0.5
    if value is None:
        return "8", 8
    others = {"ts": "ucb", "open": "game", "policy": "value", "": "simple", "none": "closest", "closest": "dangerous"}
    text = (others | {"believed": "visible", "heuristic": "prospects", "auto": "prospects"})[value]
    return text, text


@pytest.mark.parametrize(("game", "entry"), PLANNERS, ids=lambda value: value if isinstance(value, str) else value.name)
def test_every_setting_can_be_given_and_reaches_the_settings(game, entry, monkeypatch):
    monkeypatch.setattr(agents, "bundled", lambda name, game: None)  # no network is read
    assert set(kinds_of(entry.settings)) == set(values_of(entry.settings)), "a field that no command line can set"
    assert agents.settings_of(entry.name, GAMES[game])["name"] == entry.name
    for setting in set(entry.kinds) - ({"num_evaluations"} if entry.budget else set()):
        text, value = other(values_of(entry.settings)[setting])
        guide = "guide=FILE," if setting in ("prior_weight", "guide_values") else ""
        guide += "model=network," if setting in ("switch_after", "then") else ""
        guide += "switch_after=2," if setting == "then" else ""
        guide += "bandit=ucb," if setting == "c" else ""
        guide += "combine=value," if setting == "value_temperature" and "combine" in entry.kinds else ""
        guide += "ahead_worlds=2," if setting == "ahead_scale" else ""
        guide += "islands=2," if setting == "migrate_every" else ""
        guide += "rollouts=1," if setting == "greediness" and "rollouts" in entry.kinds else ""
        found = agents.settings_of(f"{entry.name}:{guide}{setting}={text}", GAMES[game])
        assert found[setting] == value != values_of(entry.settings)[setting]


@pytest.mark.parametrize("text, value", [("0", False), ("1", True), ("false", False), ("True", True)])
def test_flags_are_numbers_or_words(text, value):
    assert agents.settings_of(f"true_sight:mcts_solver={text}", GAMES["hex/adh-3"])["mcts_solver"] is value


def test_settings_of_ones_own_agents(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Habits:
        patience: int = 3
        name: str | None = None

    entry = AgentEntry("hermit", Habits, lambda game, settings: memoryless("hermit", settings))
    own = dataclasses.replace(jaxgames.registration("hex"), agents=(entry,), encoders={})
    for module in (agents, others):
        monkeypatch.setattr(module, "registered", lambda name: own)
    game = GAMES["hex/hex-3"]
    assert agents.make("hermit", game).name == "hermit"
    made = agents.make("hermit:patience=5,name=none", game)
    assert made.name == "hermit:patience=5,name=none" and agents.names_of(game)[0] == "hermit"
    with pytest.raises(ValueError, match="agent='hermit:haste=1': 'haste=1' is none of patience, name, such as patience=3"):
        agents.make("hermit:haste=1", game)
    with pytest.raises(ValueError, match="must be one of hermit, random, fdts"):
        agents.make("network", game)  # without an encoder there are no networks


def test_a_budget_is_given_in_evaluations_or_in_the_planners_own_unit():
    game = GAMES["hero_academy/tiny"]
    assert agents.settings_of("mcts", game)["num_simulations"] == entries.NUM_EVALUATIONS
    assert agents.settings_of("mcts_bridge_burning:num_evaluations=7", game)["num_simulations"] == 7
    assert agents.settings_of("oep", game)["num_generations"] == (entries.NUM_EVALUATIONS - 100) // 50 + 1
    assert agents.settings_of("oep:num_evaluations=20000", game)["num_generations"] == 399
    assert agents.settings_of("oep:num_generations=200", game)["num_generations"] == 200
    assert agents.make("mcts_bridge_burning:num_evaluations=7", game).name == "mcts_bridge_burning:num_evaluations=7"


def test_without_a_network_all_arms_are_looked_at():
    def urgency(spec):
        return agents.settings_of(spec, GAMES["hex/adh-3"])["first_play_urgency"]

    assert urgency("pc_pimc") is urgency("pc_pimc:first_play_urgency=none") is None
    assert urgency("pc_pimc:weights=FILE") == urgency("pc_pimc:first_play_urgency=-1") == -1
    assert urgency("pc_pimc:weights=FILE,first_play_urgency=none") is None


def test_the_follower_of_the_package_plays_pommerman_alone():
    game = GAMES["pommerman/ffa"]
    path = agents.bundled("follower", game)
    assert path.stat().st_size < 2e6
    follower = agents.make("follower", game)
    assert follower.name == "follower" and not follower.uses_hidden
    guided = agents.make(f"fdts:guide={path},prior_weight=2,num_simulations=4", game)
    assert guided.params is not None and guided.name.startswith("fdts:guide=")
    with pytest.raises(ValueError, match="of mode 'ffa' with planes 11 x 11 x 24, and here they are 8 x 8 x 24"):
        agents.make("follower", jaxgames.make("pommerman", "one_vs_one"))


def test_a_network_without_values_guides_by_its_policy_alone(tmp_path):
    game, path = GAMES["pommerman/ffa"], tmp_path / "paper.npz"
    who = policy_value.make(PolicyValueConfig("pommerman", "ffa", "extended", "paper"))
    save_weights(path, drawn(who.init), who.meta)
    assert agents.make(f"fdts:guide={path},num_simulations=4", game).params is not None
    for spec in (f"sp_mcts:weights={path}", f"fdts:guide={path},guide_values=1"):
        with pytest.raises(ValueError, match=r": its network 'paper' gives no values of states, which (sp_mcts|fdts) needs$"):
            agents.make(spec, game)


def test_a_network_takes_the_place_of_rollouts():
    with pytest.raises(ValueError, match=r"^num_rollouts=2: a network values states by itself"):
        presets.by_name(GAMES["hex/adh-3"], "pc_pimc", evaluate=lambda *_: None, num_rollouts=2)


def test_barrage_has_a_network_of_its_own():
    game = jaxgames.make("stratego", "barrage")
    path = agents.bundled("pc_pimc", game)
    assert path.stat().st_size < 3e6 and agents.settings_of("pc_pimc", game)["weights"] == str(path)
    assert agents.bundled("pc_pimc", jaxgames.make("stratego", "stratego")) is None, "of the same planes, with other pieces"
    assert agents.bundled("pc_pimc", jaxgames.make("stratego", "barrage-p2sro")) == path


def test_clash_has_a_follower_for_the_beginners_deck():
    assert (agents.TRAINED / "clash_follower.npz").stat().st_size < 2e6
    assert agents.make("follower", jaxgames.make("clash", "beginner")).params is not None
    with pytest.raises(ValueError, match=r"with planes 18 x 32 x 90, and here they are 18 x 32 x \d+$"):
        agents.make("follower", jaxgames.make("clash", "all"))


@pytest.mark.slow  # to trace
@pytest.mark.parametrize("name", ["sp_mcts", "tp_mcts"])
def test_searches_against_models_play_with_the_networks_of_the_package(name):
    game, small = GAMES["pommerman/ffa"], jaxgames.make("pommerman", "one_vs_one")
    searcher = agents.make(f"{name}:num_simulations=4", game)
    assert searcher.params is not None and not searcher.uses_hidden
    for spec, played in ((f"{name}:weights=none", game), (f"{name}:values=prospects", game), (name, small)):
        assert agents.make(spec, played).params is None


@pytest.mark.parametrize("name", ["sp_mcts", pytest.param("tp_mcts", marks=pytest.mark.slow)])
def test_searches_against_models_take_the_networks_of_the_package_where_these_fit(name):
    game, small = GAMES["pommerman/ffa"], jaxgames.make("pommerman", "one_vs_one")
    path = agents.bundled(name, game)
    assert path.stat().st_size < 2e6 and agents.bundled(name, small) is agents.bundled("fdts", game) is None
    assert agents.bundled(name, jaxgames.make("pommerman", "team")) is None, "who plays alone takes a teammate for an enemy"
    settings = agents.settings_of(name, game)
    assert (settings["weights"], settings["first_play_urgency"], settings["dirichlet_fraction"]) == (str(path), -1, 0.25)
    for spec, played in ((f"{name}:weights=none", game), (f"{name}:values=prospects", game), (name, small)):
        settings = agents.settings_of(spec, played)
        assert settings["weights"] == "" and settings["first_play_urgency"] is None
        assert settings["dirichlet_fraction"] == 0, "noise makes players worse that value states by hand"
    assert agents.settings_of(f"{name}:values=auto", game)["weights"] == str(path), "the network is what auto takes"
    with pytest.raises(ValueError, match=r"^values='prospects': a network values states by itself: leave out values or weights$"):
        agents.make(f"{name}:values=prospects,weights={path}", game)
    with pytest.raises(ValueError, match="of mode 'ffa' with planes 11 x 11 x 23, and here they are 8 x 8 x 23"):
        agents.make(f"{name}:weights={path}", small)
    with pytest.raises(ValueError, match="game is 'pommerman' there and 'hex' is expected"):
        agents.make(f"pc_pimc:weights={path}", GAMES["hex/adh-3"])


def test_only_agents_that_name_a_file_read_one():
    """Whoever asks agents over a network may not have files read."""
    for game, plain in (("hero_academy/tiny", "oep greedy_action mcts"), ("hex/adh-3", "random mcs ismcts pc_pimc network")):
        assert [name for name in plain.split() if agents.reads_a_file(name, GAMES[game])] == []
    for spec in ("network:FILE", "pc_pimc:weights=FILE", "pc_pimc:num_worlds=3,weights=FILE"):
        assert agents.reads_a_file(spec, GAMES["hex/adh-3"])
    assert not agents.reads_a_file("pc_pimc:weights=none", GAMES["hex/adh-3"])


def test_what_an_agent_reads_has_a_name(tmp_path):
    """A guess too; it is another one when the file changes."""
    game, package = jaxgames.make("stratego", "barrage"), {}
    for spec in ("random", "pc_pimc", "pc_pimc:guess=bundled", "network", "pc_pimc:guess=usual", "pc_pimc:weights=none"):
        package[spec] = agents.digest(spec, game)
    assert package["random"] == package["pc_pimc:weights=none"] == ""
    assert package["pc_pimc"] == package["network"] == package["pc_pimc:guess=usual"] != package["pc_pimc:guess=bundled"]
    best = tmp_path / "best.npz"
    best.write_bytes((agents.TRAINED / "stratego_guess.npz").read_bytes())
    assert agents.digest(f"pc_pimc:guess={tmp_path}", game) == package["pc_pimc:guess=bundled"]
    best.write_bytes(b"another")
    assert agents.digest(f"pc_pimc:guess={best}", game) not in package.values()


def test_a_model_is_another_network(tmp_path):
    """It is read, counted and noted as the network of the search is."""
    game, small = GAMES["pommerman/ffa"], jaxgames.make("pommerman", "one_vs_one")
    who = policy_value.make(PolicyValueConfig("pommerman", "one_vs_one", "extended", "paper_value"))
    save_weights(tmp_path / "best.npz", drawn(who.init), who.meta)
    spec = f"sp_mcts:weights=none,model=network:{tmp_path},num_simulations=2"
    agent = agents.make(spec, small)
    assert agent.name == spec and agent.params is None
    assert agents.reads_a_file(spec, small) and not agents.reads_a_file("sp_mcts:model=simple", game)
    assert agents.digest(spec, small) == agents.digest(f"network:{tmp_path}", small) != ""
    told = r"^weights nothing\.npz: cannot be read \(.*\): give a file of trained weights, or the folder of a training run$"
    with pytest.raises(OSError, match=told):
        agents.digest("network:nothing.npz", small)
    assert agents.notes([spec], small) == [] and len(agents.notes([spec], jaxgames.make("pommerman", "radio"))) == 1
    with pytest.raises(ValueError, match="of mode 'one_vs_one' with planes 8 x 8 x 24, and here they are 11 x 11 x 24"):
        agents.make(spec, game)
    with pytest.raises(OSError, match="nothing"):
        agents.make(f"sp_mcts:weights=none,model=follower:{tmp_path}/nothing", small)


def test_weights_of_another_variant_are_noted_once(tmp_path):
    who = policy_value.make(PolicyValueConfig("hex", "hex-3", network="tiny"))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        save_weights(tmp_path / name / "best.npz", drawn(who.init), who.meta)
    specs = [f"follower:{tmp_path}/one", f"network:weights={tmp_path}/one/best.npz", f"pc_pimc:weights={tmp_path}/two", "random"]
    lines = agents.notes(specs, GAMES["hex/adh-3"])
    for line, name in zip(lines, ("one", "two"), strict=True):
        assert line == f"note: weights {tmp_path}/{name}/best.npz were learnt in mode 'hex-3', and another is played here"
    assert agents.notes(specs[:2], GAMES["hex/hex-3"]) == []
    package = agents.notes(["follower", "sp_mcts"], jaxgames.make("pommerman", "radio"))
    assert package == ["note: weights pommerman_follower.npz were learnt in mode 'ffa', and another is played here"]
    assert agents.notes(["follower", "sp_mcts"], GAMES["pommerman/ffa"]) == []
    barrage = jaxgames.make("stratego", "barrage")
    assert agents.notes(["pc_pimc"], barrage) == [], "that it learnt in games of 400 moves makes no other variant"


def test_weights_that_are_none(tmp_path):
    (tmp_path / "torn.npz").write_bytes(b"PK")
    for spec in ("follower:FILE", "follower:weights=FILE", "network:weights=FILE", "fdts:guide=FILE"):
        with pytest.raises(ValueError, match=r"torn\.npz"):
            agents.make(spec.replace("FILE", str(tmp_path / "torn.npz")), GAMES["pommerman/ffa"])


def test_only_what_is_hidden_can_be_seen_by_an_oracle():
    oracle = memoryless("fdts:horizon=2", None, sees_state=True)
    for name, mark in (("hex/hex-3", ""), ("hex/adh-3", " (sees all)"), ("pommerman/ffa", " (sees all)")):
        assert agents.shown(oracle, GAMES[name]) == oracle.name + mark
    pommerman, hidden = GAMES["pommerman/ffa"], jaxgames.make("hero_academy", "hidden")
    assert agents.shown(agents.make("simple", pommerman), pommerman) == "simple"  # looks at what its seat sees alone
    assert agents.shown(agents.make("follower", pommerman), pommerman) == "follower"
    for spec in ("random", "greedy_action", "oep:num_evaluations=1000", "mcts:num_simulations=9"):
        assert agents.shown(agents.make(spec, hidden), hidden) == spec  # they go by what the player to move knows
    assert agents.shown(oracle, hidden) == "fdts:horizon=2 (sees all)"
    clash = jaxgames.make("clash", "toy")
    assert agents.shown(oracle, clash) == "fdts:horizon=2 (sees all)"
    assert agents.shown(agents.make("guard", clash), clash) == "guard"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nobody", "agent='nobody': must be one of simple, simple_unbiased, random"),
        ("simpel", r"this variant of pommerman, or python:FILE\.py:FUNCTION \(perhaps simple\?\)$"),
        ("SP_MCTS:replies=4", r"agent='SP_MCTS:replies=4': must be one of .* \(perhaps sp_mcts\?\)$"),
        ("sp_mcts,replies=4,values=prospects", r" \(perhaps sp_mcts:replies=4,values=prospects\?\)$"),
        ("sp_mcts:replys=4", r"'replys=4' is none of .*, such as .* \(perhaps replies\?\)$"),
        ("simple:x=1", "simple has no settings"),
        ("fdts:depth=3", "'depth=3' is none of guide, bandit, c, values, prior_weight, "),
        ("fdts:horizon=far", "horizon='far' must be a whole number"),
        ("fdts:horizon=", "horizon='' must be a whole number"),
        ("fdts:horizon=9,horizon=8", "horizon is given twice"),
        ("fdts:guide_values=yes", "guide_values='yes' must be 0 or 1"),
        ("fdts:bandit=exp3", "bandit='exp3': must be one of ts, ucb, uniform"),
        ("fdts:prior_weight=2", r"prior_weight=2.0: needs a guide"),
        ("tp_mcts:rival=none", "rival='none': must be one of closest, dangerous"),
        ("mcts:guide=x", "'guide=x' is none of bandit"),
        ("mcts:rollout=0", "'rollout=0' is none of bandit"),
        ("fdts:num_simulations=0", "num_simulations=0: must be >= 1"),
        ("fdts:num_simulations=3000000000", "num_simulations=3000000000: must be < 2147483648"),
        ("fdts:num_simulations=10,leaf_parallelism=4", "leaf_parallelism=4: must divide num_simulations=10"),
        ("fdts:horizon=1000", "horizon=1000: must be in 1.."),
        ("fdts:table_rows=100", "table_rows=100: must be a power of two"),
        ("oep:leaf_parallelism=2", "'leaf_parallelism=2' is none of values, num_simulations"),
        ("network", "must be network:weights=FILE"),
    ],
)
def test_agents_of_pommerman_that_do_not_exist(spec, message):
    refuses(spec, "pommerman/ffa", message)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pc_pimc:weights=nothing.npz", r"weights nothing\.npz: cannot be read"),
        ("pc_pimc:num_rollouts=many", "num_rollouts='many' must be a whole number"),
        ("pc_pimc:num_rollouts=0", "num_rollouts=0: must be >= 1"),
        ("pc_pimc:ahead_scale=0.1", "ahead_scale=0.1: needs ahead_worlds, such as 60"),
        ("pc_pimc:reuse=1", "'reuse=1' is none of weights, num_rollouts, rollout_steps, prospects, ahead_worlds"),
        ("pc_pimc:value_temperature=1", "'value_temperature=1' is none of"),
        ("pimc_value:num_simulations=9", "'num_simulations=9' is none of weights, num_rollouts, rollout_steps, prospects"),
        ("pimc:tree=shut", "tree='shut': must be one of open, game"),
        ("pimc:split=1,num_simulations=4,num_worlds=8", "split: num_simulations=4 must be at least num_worlds=8"),
        ("pc_pimc:prospects=2", "prospects=2.0: must be in 0..1"),
        ("pc_pimc:prospects=1", "prospects=1.0: game='hex' does not say what its positions promise; must be 0"),
        ("true_sight:num_worlds=2", "'num_worlds=2' is none of"),
        ("true_sight:num_simulations=3000000000", "num_simulations=3000000000: must be < 2147"),
        ("true_sight:q_veto=much", "q_veto='much' must be a number or none"),
        ("puct", "agent='puct': must be one of random, path"),
        ("follower", "must be follower:weights=FILE"),
    ],
)
def test_agents_of_dark_hex_that_do_not_exist(spec, message):
    refuses(spec, "hex/adh-3", message)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("genius:niches=1", "agent='genius:niches=1': must be one of random, best_rated"),
        ("oep:depth=2", "agent='oep:depth=2': 'depth=2' is none of num_evaluations, num_generations, population"),
        ("oep:exploration=1", "'exploration=1' is none of"),
        ("greedy_action:population=9", "greedy_action has no settings"),
        ("oep:num_evaluations=9,num_generations=1", "num_evaluations=9: give num_evaluations or num_generations, not both"),
        ("mcts:num_evaluations=9,num_simulations=9", "num_evaluations=9: give num_evaluations or num_simulations, not both"),
        ("mcts:num_evaluations=3000000000", "^num_evaluations=3000000000: must be < 2097152"),
        ("mcts:num_evaluations=0", "^num_evaluations=0: must be >= 1"),
        ("greedy_turn:num_evaluations=3000000000", "num_evaluations=3000000000: must be < 2147"),
        ("oep:num_evaluations=" + "9" * 20, "num_evaluations=99999999999999999999: must be < 2147483648"),
        ("oep:num_evaluations=9", "num_evaluations=9: must be >= 100, the first generation"),
    ],
)
def test_agents_of_hero_academy_that_do_not_exist(spec, message):
    refuses(spec, "hero_academy/tiny", message)


def refuses(spec: str, game: str, message: str) -> None:
    with pytest.raises((ValueError, OSError), match=message) as error:
        agents.make(spec, GAMES[game])
    assert "\n" not in str(error.value)
