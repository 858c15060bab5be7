"""How many kernels a step or a simulation launches, as compiled for this machine or, without having one, for an H100."""
