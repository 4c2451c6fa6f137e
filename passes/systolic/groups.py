"""Convolutions in groups: how many are computed together, as one whose other weights are zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from ...compiler.systolic_machine import SystolicMachine
from ...compiler.weights import Array
from .geometry import Convolution


def merged_groups(geometry: Convolution, groups: int, machine: SystolicMachine) -> int:
    """How many groups are left when as many are computed together as the array takes; few programs before many.

    >>> merged_groups(Convolution((8, 8), 128, 128, (3, 3)), 32, SystolicMachine.preset("gemmini16"))
    8
    """

    def tiles(count: int) -> int:
        each = ceil(geometry.channels // count / machine.rows) * ceil(geometry.filters // count / machine.cols)
        return count * each

    return min((n for n in range(1, groups + 1) if groups % n == 0), key=lambda n: (tiles(n), n))


def group_of(geometry: Convolution, groups: int) -> Convolution:
    """The convolution of one of so many groups."""
    if groups == 1:
        return geometry
    pitch = geometry.channels, geometry.filters
    return replace(geometry, channels=pitch[0] // groups, filters=pitch[1] // groups, pitch=pitch)


def diagonal(weights: Array, before: int, after: int) -> Iterator[Array]:
    """Weights of `before` groups, [kh, kw, channels of one, filters], as those of `after`, zero across groups."""
    height, width, channels, filters = weights.shape
    together, each = before // after, filters // before
    for group in range(after):
        made = np.zeros((height, width, together * channels, together * each), np.int8)
        for i in range(together):
            first = (group * together + i) * each
            part = weights[:, :, :, first : first + each]
            made[:, :, i * channels : (i + 1) * channels, i * each : (i + 1) * each] = part
        yield made
