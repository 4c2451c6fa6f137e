"""`!llvm.x86_amx`: a tile register of AMX, which xDSL's llvm dialect lacks."""

from __future__ import annotations

from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class X86AMXType(ParametrizedAttribute, TypeAttribute):
    """LLVM's `x86_amx`."""

    name = "llvm.x86_amx"
