"""The jobs of the command `jaxgames` by name. Their modules are imported when one is chosen."""

from typing import NamedTuple


class Job(NamedTuple):
    """A job of the command `jaxgames`: where its function and its config are, and what it does."""

    module: str
    run: str
    config: str
    help: str
    alone: bool = False  # in one process


JOBS = {
    "play": Job(
        "training.web.play", "run", "PlayConfig", "play a game against agents on a page in the browser, or watch them", alone=True
    ),
    "match": Job("training.play.match", "run", "MatchConfig", "a planner against opponents, shown live (also: plan)"),
    "evaluate": Job("training.play.match", "run_agents", "EvaluateConfig", "any agents against each other, trained ones too"),
    "tournament": Job("training.play.tournament", "run", "TournamentConfig", "a round robin of agents, with Elo"),
    "train-follower": Job("training.jobs.train_follower", "run", "TrainConfig", "train a network to imitate an oracle planner"),
    "train-q": Job("training.jobs.train_q", "run", "TrainConfig", "train a network by the outcomes of its own games (Q-MC)"),
    "train-guess": Job("training.jobs.train_guess", "run", "TrainConfig", "train a network to guess what is hidden"),
    "train-alphaze": Job("training.jobs.train_alphaze", "run", "TrainConfig", "train a network by self-play (AlphaZe**)"),
    "train-expert": Job(
        "training.jobs.train_expert", "run", "TrainConfig", "train a network for searches against models (SP-MCTS, TP-MCTS)"
    ),
    "write-data-sets": Job(
        "training.jobs.write_data_sets", "run", "WriteConfig", "play games and write samples in PommerLearn's format"
    ),
    "search-hyperparameters": Job("training.jobs.hyperparameters", "run", "SearchConfig", "search settings for a follower"),
    "official-match": Job(
        "training.play.official",
        "run",
        "OfficialMatchConfig",
        "play Pommerman in the official environment, if it is installed",
        alone=True,
    ),
    "card-report": Job(
        "training.jobs.card_report",
        "run",
        "ReportConfig",
        "what a change of a card of Clash does, in battles with and without",
        alone=True,
    ),
    "hints": Job(
        "training.jobs.hints",
        "run",
        "HintsConfig",
        "draw what the cards of a hand of Clash are worth, and where",
        alone=True,
    ),
    "stratego-bot": Job(
        "training.jobs.stratego_bot",
        "run",
        "StrategoBotConfig",
        "play Stratego by a text protocol, as a player or as a manager",
        alone=True,
    ),
    "replay": Job("training.jobs.replay", "run", "ReplayConfig", "replay recorded games and tell every difference", alone=True),
    "games": Job("training.jobs.list_games", "run", "GamesConfig", "list all games and variants, by their ids", alone=True),
}

ALIASES = {"plan": "match"}  # as the script is called
