"""Networks, learners, evaluation and checkpoints on top of `search` and `jaxgames`."""
