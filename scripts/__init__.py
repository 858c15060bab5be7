"""Command lines, one file per job, without logic of their own."""
