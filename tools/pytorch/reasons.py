"""Why an operator of PyTorch is not compiled, where there is more to say than that nobody wrote it."""

from __future__ import annotations

_RANDOM = "random numbers (torch.compile draws them by PyTorch's own generator; export in evaluation mode)"
_DEPENDS = "the shape of its result depends on values"
_STATE = "it changes a tensor in place"

_REASONS = {
    "rand": _RANDOM,
    "randn": _RANDOM,
    "randint": _RANDOM,
    "randperm": _RANDOM,
    "rand_like": _RANDOM,
    "randn_like": _RANDOM,
    "bernoulli": _RANDOM,
    "native_dropout": _RANDOM,
    "multinomial": _RANDOM,
    "normal": _RANDOM,
    "unique_consecutive": _DEPENDS,
    "repeat_interleave": _DEPENDS,
    "_local_scalar_dense": "a number that is computed decides what the program is",
    "resize_": _STATE,
    "copy_": _STATE,
}


def reason_for(name: str) -> str:
    """The reason for the operator `aten.name.overload`."""
    parts = name.split(".")
    known = _REASONS.get(parts[1] if len(parts) > 1 and parts[0] == "aten" else parts[0])
    if known is not None:
        return known
    return "no lowering" if parts[0] == "aten" else "not an ATen operator"
