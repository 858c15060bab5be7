"""What a piece of a step is made of on a CPU: instructions, counted in the machine code that XLA makes of it, and its time."""
