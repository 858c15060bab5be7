"""One command for whoever has an accelerator: are its results those of a CPU, how fast is it, and does everything learn on it."""
