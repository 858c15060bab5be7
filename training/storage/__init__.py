"""Files: weights, checkpoints, logs."""
