"""Games between agents: the compiled loop, counting, ratings, matches and tournaments."""
