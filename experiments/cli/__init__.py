"""Commands of the experiments."""
