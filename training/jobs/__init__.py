"""What the command lines run."""
