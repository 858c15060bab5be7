"""Networks in flax.nnx, used as pure functions of parameters and inputs."""
