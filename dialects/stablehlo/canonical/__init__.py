"""Canonical forms of the hub: rules by op class, applied by `stablehlo-simplify`."""

from . import arithmetic, contraction, control, movement, spread_images, windows
from .rules import simplifies

__all__ = ["arithmetic", "contraction", "control", "movement", "simplifies", "spread_images", "windows"]
