"""What units, cards and equipment look like, in pictures and on the page alike: SVG shapes around (0, 0), letters and colours."""

from __future__ import annotations

from jaxgames.hero_academy import units

COLOURS = ("#2f5d9e", "#b8403a")  # of the players
PALE = ("#a9bddb", "#e0b3b0")  # knocked down
COLOUR_NAMES = ("blue", "red")
SQUARES = {"d": "#dfe8f5", "D": "#f6dfdc", "S": "#d9e9d4", "A": "#f2e2b8", "P": "#e6d9ef"}
PLAIN = "#f7f5ef"
MARKS = {"d": "deploy", "D": "deploy", "S": "defense", "A": "assault", "P": "power"}

# A shield, an arrowhead, a cross, a pointed hat, a throwing star, a crystal.
UNITS = {
    units.KNIGHT: "M-17 -17H17V2Q17 14 0 20Q-17 14 -17 2z",
    units.ARCHER: "M0 -25L22 16H-22z",
    units.CLERIC: "M-8 -20H8V-8H20V8H8V20H-8V8H-20V-8H-8z",
    units.WIZARD: "M0 -25L9 -4Q19 0 19 9Q19 19 0 19Q-19 19 -19 9Q-19 0 -9 -4z",
    units.NINJA: "M0 -24L8 -8L24 0L8 8L0 24L-8 8L-24 0L-8 -8z",
    units.CRYSTAL: "M0 -22L16 -3L0 18L-16 -3z",
}
LETTERS = ".KACWN◆"  # by kind of unit
LETTER_DOWN = {units.ARCHER: 5, units.WIZARD: 4}  # where the middle of the shape is not that of its letter

# By number of the piece of equipment.
ITEM_LETTERS = "drhs"
ITEM_COLOURS = ("#5b8c5a", "#6e7f94", "#d0a020", "#9a63c9")

# Outlines of the cards that are no units, in order.
CARDS = (
    "M0-14q4 7 9 11q6 6 2 12q-4 6-11 6q-7 0-10-6q-3-7 3-12q1 4 3 4q0-8 4-15z",
    "M-4-14h8v8l7 12q2 8-6 8h-10q-8 0-6-8l7-12z",
    "M-10 10l10-24l10 24zM-5 3h10",
    "M-10-12h20v24h-20zM-6-6h12M-6 0h12M-6 6h8",
    "M0-14l12 5q0 16-12 23q-12-7-12-23z",
    "M-12 8q0-20 12-20q12 0 12 20zM-12 8h24",
)
