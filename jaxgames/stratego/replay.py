"""Replays games of the AlphaZe** paper's code (yorktown) and of stratego_env (the code of Pipeline-PSRO)."""

from __future__ import annotations

from jaxgames.replay import Arrays, BadRecording, Findings
from jaxgames.stratego import replay_env, replay_yorktown


def replay(arrays: Arrays, findings: Findings) -> int:
    """Replays what one file holds; every field takes part.

    Args:
      arrays: all arrays of the file.
      findings: takes every difference.

    Returns:
      How many moves have been checked.

    Raises:
      BadRecording: the arrays are no recording of this game.
    """
    for name, kind in (("p1", replay_env), ("piece", replay_yorktown)):
        if name not in arrays:
            continue
        try:
            return kind.replay(arrays, findings)
        except BadRecording:
            raise
        except (TypeError, ValueError, IndexError) as error:
            raise BadRecording(f"no sound recording: {error}") from None
    raise BadRecording("no recording of Stratego: lacks piece (yorktown) and p1 (stratego_env)")
