"""PrivateVine: a vine copula whose epsilon is real."""
