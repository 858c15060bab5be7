"""Between our Pommerman and the official one, the public names of five files.

`arrays`: states as the plain arrays of recorded games. `official_json`: one state as the text that the official environment
saves. `official_observation`: what an agent sees as the official dictionary, and as the arrays of recorded games.
`official_input`: that dictionary as an observation. `official_actions`: actions, checked. All of it is numpy and works outside
jit; bad input raises ValueError.
"""

from jaxgames.pommerman.arrays import (
    LEAST_LISTED_BOMBS,
    STATE_FIELDS,
    check_arrays,
    from_arrays,
    pack_number,
    sort_bombs,
    to_arrays,
    unpack,
    unpack_number,
)
from jaxgames.pommerman.official_actions import check_actions, from_official_actions, to_official_actions
from jaxgames.pommerman.official_input import observation_from_dict
from jaxgames.pommerman.official_json import from_json, to_json
from jaxgames.pommerman.official_observation import observation_dict, observations_to_arrays
from jaxgames.replay import Arrays

__all__ = [
    "LEAST_LISTED_BOMBS",
    "STATE_FIELDS",
    "Arrays",
    "check_actions",
    "check_arrays",
    "from_arrays",
    "from_json",
    "from_official_actions",
    "observation_dict",
    "observation_from_dict",
    "observations_to_arrays",
    "pack_number",
    "sort_bombs",
    "to_arrays",
    "to_json",
    "to_official_actions",
    "unpack",
    "unpack_number",
]
