"""Fault drills: what happens to a training run when machines, disks and people do what they do."""
