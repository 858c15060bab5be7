"""Every number of units and their equipment."""

from __future__ import annotations

import numpy as np

EMPTY, KNIGHT, ARCHER, CLERIC, WIZARD, NINJA, CRYSTAL = range(7)
UNITS = (KNIGHT, ARCHER, CLERIC, WIZARD, NINJA)
UNIT_NAMES = ("empty", "knight", "archer", "cleric", "wizard", "ninja", "crystal")
KIND_BITS = 3

# Equipment by number; the bit masks of recordings are 1 << number.
DRAGONSCALE, RUNEMETAL, HELM, SCROLL = range(4)
ITEM_NAMES = ("dragonscale", "runemetal", "shining helm", "scroll")

# By kind.
BASE_HIT_POINTS = np.array([0, 1000, 800, 800, 800, 800, 4500], np.int32)
ARMOUR_HIT_POINTS = np.array([0, 100, 80, 80, 80, 80, 0], np.int32)  # more for dragonscale, and as much for a helm
SPEED = np.array([0, 2, 2, 2, 2, 3, 0], np.int32)
RANGE = np.array([0, 1, 3, 2, 2, 2, 0], np.int32)  # of attacks
POWER = np.array([0, 200, 300, 200, 200, 200, 0], np.int32)
PHYSICAL_RESISTANCE = np.array([0, 20, 0, 0, 0, 0, 0], np.int32)  # per cent
MAGICAL_RESISTANCE = np.array([0, 0, 0, 0, 10, 0, 0], np.int32)
# Multipliers of damage, doubled to be whole: next to the attacker, and further away.
CLOSE_DOUBLED = np.array([0, 2, 1, 2, 2, 4, 2], np.int32)
FAR_DOUBLED = np.array([0, 2, 2, 2, 2, 2, 2], np.int32)

HIT_POINT_BITS = 13  # 4500 < 2**13
HEALING_RANGE = 2
HEALING, REVIVING = 3, 2  # times the cleric's power, for a living and for a knocked-down unit
ITEM_RESISTANCE = 20  # of dragonscale (physical) and helm (magical)
SQUARE_RESISTANCE = 20  # of the defense square, physical
SQUARE_POWER = 100  # of a power square
SCROLL_FACTOR = 3
ASSAULT_BONUS = 300  # against crystals, per assault square held
CHAIN = ((3, 4), (56, 100))  # share of the damage at each jump of a wizard's lightning

INFERNO_DAMAGE = 350
POTION_HEALING = 1000
POTION_REVIVAL = 100

# What a unit's equipment and square are worth, by kind: the bonuses of the released program, which differ from the paper's
# Table I (Justesen et al.).
ITEM_VALUE = np.array(
    [[0, 0, 0, 0], [60, -30, 20, -10], [60, 60, 40, 80], [30, 20, 20, 30], [50, 60, 40, 80], [30, 20, 30, 70], [0, 0, 0, 0]],
    np.int32,
)
ASSAULT_VALUE = np.array([0, 120, 40, 10, 40, 50, 0], np.int32)
DEFENSE_VALUE = np.array([0, 30, 80, 20, 70, 60, 0], np.int32)
POWER_VALUE = np.array([0, 30, 120, 40, 100, 70, 0], np.int32)
DEPLOY_VALUE = -75
WIN_VALUE = 60_000


def most_hit_points(kinds: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Gives hit points at full health by kind and equipment (bits), on the host; int32 arrays of one shape."""
    pieces = ((items >> DRAGONSCALE) & 1) + ((items >> HELM) & 1)
    return BASE_HIT_POINTS[kinds] + pieces * ARMOUR_HIT_POINTS[kinds]
