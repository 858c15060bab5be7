"""Bandits over a table of states: FDTS, MCTS and MCS for simultaneous moves."""
