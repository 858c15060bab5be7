"""Networks, learners, evaluation and checkpoints on top of `search` and `jaxgames`.

`training.play.evaluate.play` plays matches and `training.play.agents.make` gives agents by name; `training.learn` holds the
learners and `training.jobs` what the command lines run.
"""
