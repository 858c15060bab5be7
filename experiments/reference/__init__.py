"""The pages of docs/games and docs/planners: their tables are made from the code."""
