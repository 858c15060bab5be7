"""The tables of the papers and the benchmarks; part of the repository, not of the wheel."""
