"""Clash as the common game interface asks (see `jaxgames.game.Game`)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.clash import arms, ending, hidden, observation, playing_on, rules, setup
from jaxgames.clash.config import ClashConfig, preset
from jaxgames.clash.constants import TOWERS
from jaxgames.clash.hidden import Information
from jaxgames.clash.observation import Observation
from jaxgames.clash.state import State, state_key
from jaxgames.clash.tables import unit_columns
from jaxgames.game import GameBase
from jaxgames.specs import with_settings

_WHOLE = 2**14  # as which the full hit points of a tower are counted


@dataclasses.dataclass(frozen=True)
class Clash(GameBase):
    """An arena battle in steps of half a second. Actions are numbered as `rules` says; both players act at once.

    An action that is not legal counts as waiting.

    Attributes:
      config: the battle.
    """

    config: ClashConfig = ClashConfig()
    name = "clash"
    view = "jaxgames.clash.view"
    num_players = 2
    num_actions = rules.NUM_ACTIONS
    pass_action = rules.WAIT
    always_hidden = True

    @property
    def num_arms(self) -> int:
        """K of `search_arms`: waiting, and so many positions for each card of the hand."""
        return arms.num_arms(self.config)

    @property
    def arm_groups(self) -> tuple[int, ...]:
        """Gives the group of each arm, for searches that choose a group first: waiting, and each card of the hand."""
        return arms.groups(self.config)

    @property
    def opening_steps(self) -> int:
        """Ten seconds, in which both begin to play."""
        return min(20, self.max_steps // 4)

    def init(self, key: Array) -> State:
        """Shuffles decks; see `setup.init`."""
        return setup.init(self.config, key)

    def apply(self, state: State, actions: Array, chance: tuple[()] = ()) -> State:
        """Plays half a second; see `rules.step`."""
        del chance
        actions = checks.actions(actions, 2, self.num_actions)
        return rules.step(self.config, state, actions)

    def to_play(self, state: State) -> Array:
        """-1: both play at once; int32 []."""
        del state
        return jnp.int32(-1)

    def legal_actions(self, state: State) -> Array:
        """Gives bool [2, A]; see `rules.legal_actions`."""
        return rules.legal_actions(self.config, state)

    def offered_action(self, state: State, player: Array, action: Array) -> Array:
        """Gives the action in `legal_actions` that does the same; see `rules.offered_action`."""
        return rules.offered_action(self.config, state, player, action)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """Gives waiting and each card at a sample of tiles: int32 [2, K], bool [2, K]; see `arms.search_arms`."""
        return arms.search_arms(self.config, state)

    def outcome(self, state: State) -> Array:
        """Gives +1 win, 0 draw, -1 loss; 0 while the battle runs. Returns float32 [2]."""
        return (state.winner == np.arange(2)).astype(jnp.float32) - (state.winner == np.arange(2)[::-1]).astype(jnp.float32)

    def heuristic(self, state: State) -> Array:
        """Says who has more towers, +1 or -1 (0: nobody), and at the end who has won: float32 [2].

        With `value="play_on"` towers count as they are when all that is on the arena has been played out without further cards.
        With `shaping`, that share of it is the difference of all towers' hit points, each as a share of its full ones; with
        `value="play_on_hp"` its sign stands for that of towers where these are equally many.
        """
        config = self.config
        hp = playing_on.standing_hp(state) if config.value == "towers" else playing_on.tower_hp(config, state)
        towers = ending.tower_counts(hp > 0)
        ahead = jnp.sign(towers - towers[::-1]).astype(jnp.float32)
        full = unit_columns(config).hp[:, [0, 0, 1]].astype(np.int32)
        # Whole numbers: of equal shares nothing may be left, as bandits may go by the sign of a value.
        left = jax.lax.div(hp.astype(jnp.int32) * _WHOLE, jnp.asarray(full)).sum(1)
        more = left - left[::-1]
        if config.value == "play_on_hp":
            ahead = jnp.where(ahead == 0, jnp.sign(more).astype(jnp.float32), ahead)
        if config.shaping:
            ahead = (1 - config.shaping) * ahead + config.shaping / (TOWERS * _WHOLE) * more
        return jnp.where(state.terminated, self.outcome(state), ahead)

    def state_key(self, state: State) -> Array:
        """Identifies a state for search tables, uint32 [2]."""
        return state_key(state)

    def observe(self, state: State, player: Array) -> Observation:
        """Gives what one player sees now; see `observation.observe`."""
        checks.seat(player, 2)
        return observation.observe(self.config, state, player)

    @property
    def open_game(self) -> Clash:
        """The game itself: a search that is given a drawn state plans as if its hands were open."""
        return self

    def open_state(self, state: State) -> State:
        """The state itself."""
        return state

    def init_information(self, player: Array, observation: Observation | None = None) -> Information:
        """Gives what a player knows of its first view, in which it finds its first hand.

        Raises:
          ValueError: there is none: hands differ from battle to battle.
        """
        del player
        if observation is None:
            raise ValueError("observation=None: decks are shuffled, so give init_information the player's first observation")
        return hidden.init_information(self.config, observation)

    def update_information(self, info: Information, observation: Observation, own_action: Array) -> Information:
        """Adds what a player has seen; its own action stands in the observation. See `hidden.update_information`."""
        del own_action
        return hidden.update_information(self.config, info, observation)

    def sample_hidden(self, key: Array, info: Information) -> State:
        """Draws a full state that fits what a player knows; see `hidden.sample`."""
        return hidden.sample(self.config, key, info)

    def to_text(self, state: State) -> str:
        """Writes one position in letters; see `letters.to_text`."""
        from jaxgames.clash import letters

        return letters.to_text(self.config, state)


def make(mode: str | None = None, **settings: Any) -> Clash:
    """Makes the game from the name of a variant ("beginner" if None) and fields of its config that differ."""
    config = preset("beginner" if mode is None else mode)
    return Clash(with_settings(config, settings))
