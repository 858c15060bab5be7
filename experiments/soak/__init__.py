"""Long runs of games in which every state is checked."""
