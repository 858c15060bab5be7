"""Learners and the games that they learn from."""
