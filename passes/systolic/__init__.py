"""Passes for systolic arrays: what runs there, in which tiles, in which order."""
