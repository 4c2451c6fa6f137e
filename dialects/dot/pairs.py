"""Where sums of two products of bytes fit into 16 bits, as x86's vpmaddubsw keeps them."""

from __future__ import annotations

import numpy as np

from ...compiler.weights import Array

MOST = (1 << 15) // 255  # of two factors of one sign: times 255 it is within 16 bits, with either sign


def pairs_fit(weights: Array, axis: int) -> bool:
    """Whether unsigned bytes times neighbours along `axis`, in pairs from the first on, add up within 16 bits.

    >>> pairs_fit(np.array([100, 28, -128, 100, 127]), 0), pairs_fit(np.array([100, 29]), 0)
    (True, False)
    """
    if not weights.size or max(int(weights.max()), -int(weights.min())) <= MOST // 2:
        return True
    last = np.moveaxis(weights, axis, -1)
    even, odd = last[..., ::2].astype(np.int16), last[..., 1::2].astype(np.int16)
    alone = even[..., odd.shape[-1] :]
    even = even[..., : odd.shape[-1]]
    for sign in (1, -1):
        sums = np.maximum(sign * even, 0) + np.maximum(sign * odd, 0)
        if int(sums.max(initial=0)) > MOST or int((sign * alone).max(initial=0)) > MOST:
            return False
    return True
