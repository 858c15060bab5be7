"""Planners of turns of several actions: evolution, trees and greedy search."""
