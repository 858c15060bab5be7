"""Stratego against other programs: the text protocol of strategoevaluator, as a player and as a manager of games."""
