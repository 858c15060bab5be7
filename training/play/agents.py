"""Agents by name, for command lines: rule-based ones, planners, and networks out of files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jaxgames
from jaxgames import checks
from jaxgames.abilities import has_secrets, tells_usual
from jaxgames.agent import Agent
from jaxgames.game import Game, hides_something, is_hidden
from jaxgames.others import bots_of
from jaxgames.registration import AgentEntry, registered
from jaxgames.specs import KINDS, kinds_of, read_options, values_of, with_settings
from search import presets
from search.entries import PlannerEntry
from search.guessed import CANDIDATES, GuessedWorlds
from search.modelled import AUTO
from search.modelled import NETWORK as GUIDE
from search.planner import Planner, as_agent
from training.models import guess, policy_value
from training.play import own_agents
from training.storage.weights import content_of, load_weights, weights_file

TRAINED = Path(__file__).parents[1] / "trained"
NETWORKS = ("follower", "network")  # players without search; a follower chooses a group of actions first
USUAL = "usual"  # a guess by what the game says, without a network
_MODELS = ("model", "partner", "then")  # settings of searches against models that name agents
_GUESSES = ("none", "bundled", USUAL)  # that read no file which is named
_SHARED = {  # planners that take the network which comes for another, and the player without search
    "tp_mcts": "sp_mcts",
    "pimc": "pc_pimc",
    "medoid": "pc_pimc",
    "true_sight": "pc_pimc",
    "network": "pc_pimc",
}


def names_of(game: Game) -> tuple[str, ...]:
    """Gives the names of all agents that can play a game."""
    return (*_entries(game), *_networks(game))


def make(spec: str, game: Game) -> Agent:
    """Makes an agent from a text such as "simple", "fdts:bandit=ucb,num_simulations=50" or "follower:output/best.npz".

    Args:
      spec: one of `names_of(game)`; after a colon, its settings, and the file with the weights of a network or the folder of a
        training run: follower:FILE, network:weights=FILE, pc_pimc:weights=FILE, fdts:guide=FILE. Without a file, a follower and
        those planners for which networks come with this package take these (`bundled`); weights=none: no network. Planners in
        determinizations (drawn worlds) take likelier ones, with guess=FILE by a network's guess out of candidates=32;
        guess=bundled is the one that comes with this package, where there is one, and guess=usual what the game says to be usual.
        Searches against models may ask another network than their own, model=network:FILE or model=follower:FILE, or an agent of
        one's own. Such an agent is python:FILE.py:FUNCTION, see `own_agents`.
      game: what it will play.

    Returns:
      The agent; its name tells its settings.

    Raises:
      ValueError: there is no such agent or setting, or the weights are of another game.
      OSError: the file cannot be read.
    """
    if not isinstance(spec, str):
        raise ValueError(f"agent={spec!r}: must be a text, such as {next(iter(_entries(game)))!r}")
    if own_agents.is_own(spec):
        return own_agents.make(spec, game)
    name, _, text = spec.partition(":")
    if name in _networks(game):
        who, params = policy_value.read(_weights_of(spec, game), game)
        return who.agent(params, name=spec, grouped=name == "follower")
    entry, options = _read(spec, game)
    if isinstance(entry, AgentEntry):
        agent = entry.build(game, with_settings(entry.settings(), options))
        return agent._replace(name=spec) if text else agent
    planner, params = make_planner(spec, game)
    return as_agent(planner)._replace(name=spec, params=params)


def make_planner(spec: str, game: Game) -> tuple[Planner, Any]:
    """Makes a planner by its name, with its network.

    Args:
      spec: a planner as `make` takes it, such as "sp_mcts:num_simulations=100".
      game: the game.

    Returns:
      The planner, and the parameters of its network; None without one.

    Raises:
      ValueError, OSError: as `make`; or it is no planner.
    """
    if not isinstance(spec, str):
        raise ValueError(f"planner={spec!r}: must be a text, such as {next(iter(presets.planners_of(game)))!r}")
    if own_agents.is_own(spec):
        found = own_agents.made(spec, game)
        if isinstance(found, Planner):
            return found._replace(name=spec), None
        raise ValueError(f"planner={spec!r}: is an agent, which plans nothing that could be shown; must be a planner")
    name = spec.partition(":")[0]
    if name not in presets.planners_of(game):
        known = presets.planners_of(game)
        raise ValueError(f"planner={spec!r}: must be one of {', '.join(known)}{_meant(spec, known)}")
    entry, options = _read(spec, game)
    path = _network_of(entry, options, game) if isinstance(entry, PlannerEntry) else None
    worlds = _guessed(spec, options, game)
    models = models_by_text(options, game)
    if path is None or isinstance(entry, AgentEntry):
        return presets.by_name(worlds, name, agents=models, **options), None
    who, params = policy_value.read(path, game)
    if entry.by_hand or options.get("guide_values"):
        who.check_values(f"{entry.network}={path}", name)
    return presets.by_name(worlds, name, evaluate=who.evaluate, outputs=who.encoder.outputs, agents=models, **options), params


def settings_of(spec: str, game: Game) -> dict[str, Any]:
    """Gives the name of an agent and the values of all its settings, by which two texts can be told to mean the same.

    Raises:
      ValueError: there is no such agent or setting.
    """
    name, _, text = spec.partition(":")
    if own_agents.is_own(spec):
        return {"name": spec}
    if name in _networks(game):
        return {"name": name, "weights": text}
    entry, options = _read(spec, game)
    if isinstance(entry, AgentEntry):
        return {"name": name, **values_of(with_settings(entry.settings(), options))}
    path, guessed = _network_of(entry, options, game), _guess_of(spec, options, game)
    values = values_of(entry.configure(options, with_network=path is not None))
    return {"name": name, "weights": str(path or ""), **values, **guessed}


def reads_a_file(spec: str, game: Game) -> bool:
    """Says whether an agent reads a file that its text names; those that come with this package do not count."""
    name, _, text = spec.partition(":")
    if own_agents.is_own(spec):
        return True
    if name in _networks(game):
        return bool(text)
    entry = _entries(game).get(name)
    files = {entry.network: ("none",), "guess": _GUESSES} if isinstance(entry, PlannerEntry) else {}
    settings = _written(text)
    named = any(name in files and value not in files[name] for name, value in settings.items())
    return named or any(reads_a_file(model, game) for model in _models_of(settings))


def runs_a_file(spec: str) -> bool:
    """Says whether an agent is a program in a file, or models others by one."""
    if own_agents.is_own(spec):
        return True
    return any(map(runs_a_file, _models_of(_written(spec.partition(":")[2]))))


def _written(text: str) -> dict[str, str]:
    """Gives the settings of a text as they are written, whether they are any or not."""
    return {name: value for name, _, value in (part.partition("=") for part in text.split(",")) if name}


def digest(spec: str, game: Game) -> str:
    """A short name for what is in the files that an agent reads, also those that come with this package; "" without any.

    Raises:
      ValueError, OSError: as `make`.
    """
    files = _files(spec, game)
    found = hashlib.sha256(b"".join(hashlib.sha256(content_of(file)).digest() for file in files))
    return found.hexdigest()[:16] if files else ""


def notes(specs: Iterable[str], game: Game) -> list[str]:
    """Says, in a line for each file, which weights were learnt in another variant.

    Those that come with this package are told by name, and not where their variant is played with its usual settings.

    Raises:
      ValueError, OSError: as `make`.
    """
    found = []
    for file in dict.fromkeys(file for spec in dict.fromkeys(specs) for file in _files(spec, game)):
        if file.suffix == ".py":
            continue
        _, meta = load_weights(file)
        mode, ours = meta.get("mode", ""), file.resolve().parent == TRAINED.resolve()
        alike = {mode, mode.partition(":")[0]} if ours else {mode}
        if all(jaxgames.make(meta["game"], each or None) != game for each in alike):
            told = file.name if ours else file
            found.append(f"note: weights {told} were learnt in mode {mode!r}, and another is played here")
    return found


def _files(spec: str, game: Game) -> list[Path]:
    """Gives the files that an agent reads."""
    name = spec.partition(":")[0]
    if own_agents.is_own(spec):
        return [own_agents.file_of(spec)]
    settings: dict[str, Any] = {"weights": _weights_of(spec, game)} if name in _networks(game) else settings_of(spec, game)
    kinds = ("weights", "guess")
    files = [weights_file(settings[kind]) for kind in kinds if settings.get(kind, "") not in ("", *_GUESSES)]
    return files + [file for model in _models_of(settings) for file in _files(model, game)]


def _models_of(settings: Mapping[str, Any]) -> list[str]:
    """Gives the models among a planner's settings that are made by their own texts, such as network:FILE."""
    values = dict.fromkeys(str(settings.get(name, "")) for name in _MODELS)
    return [value for value in values if value.partition(":")[0] in (*NETWORKS, own_agents.PYTHON) and value != GUIDE]


def models_by_text(settings: Mapping[str, Any], game: Game) -> dict[str, Agent]:
    """Makes the models among a search's settings that have their own texts, such as network:FILE, by these texts.

    Raises:
      ValueError, OSError: as `make`.
    """
    return {text: make(text, game) for text in _models_of(settings)}


def bundled(name: str, game: Game) -> Path | None:
    """Gives the weights that come with this package for a planner of a game; None where there are none, or for other planes."""
    path = TRAINED / f"{game.name}_{_SHARED.get(name, name)}.npz"
    return path if path.exists() and policy_value.fits(path, game) else None


def _read(spec: str, game: Game) -> tuple[AgentEntry | PlannerEntry, dict[str, Any]]:
    """Looks up an agent other than a network alone, and reads its settings."""
    name, _, text = spec.partition(":")
    entry = _entries(game).get(name)
    if entry is None:
        known = names_of(game)
        others = f"in this variant of {game.name}, or {own_agents.WHERE}{_meant(spec, known)}"
        raise ValueError(f"agent={spec!r}: must be one of {', '.join(known)}, {others}")
    if isinstance(entry, AgentEntry):
        settings = entry.settings()
        kinds = kinds_of(settings)
    else:
        settings = entry.settings
        guessed = {"guess": KINDS[str], "candidates": KINDS[int]} if has_secrets(game) and "num_worlds" in entry.kinds else {}
        kinds = ({entry.network: KINDS[str]} if entry.network else {}) | guessed | entry.kinds
    if text and not kinds:
        raise ValueError(f"agent={spec!r}: {name} has no settings")
    told = {name: value for name, value in values_of(settings).items() if name in kinds}
    example = next((f"{name}={value}" for name, value in told.items() if value != ""), "")
    return entry, read_options(f"agent={spec!r}", text, kinds, example)


def _meant(spec: str, names: Iterable[str]) -> str:
    """Gives " (perhaps simple?)" where a name is nearly one of these, or a comma stands where a colon was meant; else ""."""
    known = list(names)
    name, comma, settings = spec.partition(",")
    if comma and name in known:
        return f" (perhaps {name}:{settings}?)"
    found = checks.perhaps(spec.partition(":")[0], known)
    return f" ({found})" if found else ""


def _network_of(entry: PlannerEntry, options: dict[str, Any], game: Game) -> str | Path | None:
    """Takes the file of a planner's network out of its options; None: it shall have none, or value states in another way."""
    path: str | None = options.pop(entry.network, None)
    if path is None:
        return bundled(entry.name, game) if all(options.get(name, AUTO) == AUTO for name in entry.by_hand) else None
    return None if path == "none" else path


def _guess_of(spec: str, options: dict[str, Any], game: Game) -> dict[str, Any]:
    """Takes out of a planner's options how its worlds are guessed: nothing, or a file and the number of candidates."""
    path, candidates = options.pop("guess", "none"), options.pop("candidates", None)
    if path == "none":
        if candidates is not None:
            raise ValueError(
                f"agent={spec!r}: candidates={candidates} needs guess=FILE, the weights of a network that guesses, or usual"
            )
        return {}
    if path == USUAL and not tells_usual(game):
        raise ValueError(f"agent={spec!r}: {game.name} does not tell what is usually hidden where; give guess=FILE")
    if path == "bundled":
        path = TRAINED / f"{game.name}_guess.npz"
        if not (path.exists() and guess.fits(path, game)):
            raise ValueError(f"agent={spec!r}: no network that guesses comes with this package for this game; give guess=FILE")
    return {"guess": str(path), "candidates": CANDIDATES if candidates is None else candidates}


def _guessed(spec: str, options: dict[str, Any], game: Game) -> Any:
    """Gives the game in which a planner draws its worlds: as it is, or by what a network guesses."""
    found = _guess_of(spec, options, game)
    if not found:
        return game
    if found["guess"] == USUAL and tells_usual(game):
        return GuessedWorlds(game, game.usual_chances, found["candidates"])
    who, params = guess.read(found["guess"], game)
    return who.worlds(params, found["candidates"])


def _entries(game: Game) -> dict[str, AgentEntry | PlannerEntry]:
    return {**bots_of(game), **presets.planners_of(game)}


def _networks(game: Game) -> tuple[str, ...]:
    known = registered(game.name)
    return NETWORKS if known and known.encoders else ()


def _weights_of(spec: str, game: Game) -> str | Path:
    """Gives the file after the colon of a network's name, or the one that comes with this package."""
    name, _, text = spec.partition(":")
    path, own = text.removeprefix("weights="), TRAINED / f"{game.name}_{_SHARED.get(name, name)}.npz"
    if path:
        return path
    if text or not own.exists():
        raise ValueError(f"agent={spec!r}: must be {name}:weights=FILE, or the folder of a training run")
    return own


def shown(agent: Agent, game: Game) -> str:
    """Gives an agent's name for tables, marked if it makes use of what its seat does not see."""
    hides = not is_hidden(game) or hides_something(game)
    return f"{agent.name} (sees all)" if agent.sees_state and agent.uses_hidden and hides else agent.name
