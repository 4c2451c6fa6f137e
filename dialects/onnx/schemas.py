"""The operators of ONNX, as the `onnx` package's own registry describes them: nothing is listed by hand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx.defs import OpSchema

DEFAULT_DOMAIN = "ai.onnx"  # what the empty domain of a model file means
OLDEST_OPSET = 7


@cache
def newest_opset() -> int:
    """The newest opset of ai.onnx that the installed `onnx` package knows."""
    from onnx import defs

    return defs.onnx_opset_version()


@cache
def _domains() -> frozenset[str]:
    from onnx import defs

    return frozenset(schema.domain or DEFAULT_DOMAIN for schema in defs.get_all_schemas_with_history())


@cache
def newest_version(domain: str) -> int:
    """The newest opset of `domain` the registry knows; 1 for a domain it does not."""
    from onnx import defs

    if domain == DEFAULT_DOMAIN:
        return newest_opset()
    versions = [s.since_version for s in defs.get_all_schemas_with_history() if s.domain == domain]
    return max(versions, default=1)


def is_known_domain(domain: str) -> bool:
    """Whether the registry holds operators of `domain`; others are custom domains, taken on trust."""
    return domain in _domains()


@cache
def find_schema(domain: str, name: str, opset: int) -> OpSchema | None:
    """The schema of an operator as of `opset`: the newest not above it, None when there is none."""
    from onnx import defs

    try:
        return defs.get_schema(name, opset, "" if domain == DEFAULT_DOMAIN else domain)
    except defs.SchemaError:
        return None


@cache
def is_operator(domain: str, name: str) -> bool:
    """Whether the registry has the operator in any version."""
    from onnx import defs

    return defs.has(name, "" if domain == DEFAULT_DOMAIN else domain)


def accepted_types(domain: str, name: str) -> tuple[frozenset[str], ...]:
    """The types ("tensor(float)", ...) that each input of an operator takes in any version; the last one's repeat."""
    return tuple(_accepted().get(("" if domain == DEFAULT_DOMAIN else domain, name), ()))


@cache
def _accepted() -> dict[tuple[str, str], list[frozenset[str]]]:
    """What each operator of the registry accepts: to ask for all schemas takes longer than to go through them."""
    from onnx import defs

    operators: dict[tuple[str, str], list[frozenset[str]]] = {}
    for schema in defs.get_all_schemas_with_history():
        accepted = operators.setdefault((schema.domain, schema.name), [])
        for place, formal in enumerate(schema.inputs):
            accepted += [frozenset()] if place == len(accepted) else []
            accepted[place] |= formal.types
    return operators
