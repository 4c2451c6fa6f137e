"""Index notation: what the elaborator calls for each of its forms.

An index is bound by `[i] => …`, `sum[i] …`, `let y[i] = …` or `y[idx[i]] += …`. Its range is found first, by
`index_ranges.py`; then the body is walked once, as everything is, with the index as a scalar that has a range, by
which `index_bounds.py` proves that subscripts stay inside.
"""

from __future__ import annotations

from .index_access import subscript
from .index_body import comprehension, reduction
from .index_define import define
from .index_slices import read_or
from .index_update import update

__all__ = ["comprehension", "define", "read_or", "reduction", "subscript", "update"]
