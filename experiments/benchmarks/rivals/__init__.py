"""Drivers of published generators; each file runs alone, in an environment of its own."""
