"""Several holders of rows, one model: masked sums, of which nobody sees a part."""

from copula_shirley.holders.simulation import HeldVine as HeldVine
from copula_shirley.holders.simulation import simulate as simulate

__all__ = ["HeldVine", "simulate"]
