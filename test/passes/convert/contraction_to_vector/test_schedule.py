"""What the cost model chooses, where that was found by measuring."""

from dataclasses import replace

from lamina.compiler.machine import Machine
from lamina.passes.convert.contraction_to_vector.schedule import Problem, choose

AVX2 = replace(Machine.preset("x86-64-avx2"), cores=1)


def test_the_panels_of_a_batch_are_asked_for_ahead_where_they_are_many():
    many = Problem(batch=36, rows=16, columns=256, depth=256, element_bytes=4, lanes=16, loops=(256,))
    assert choose(many, AVX2).ahead == 4
    assert choose(replace(many, columns=64, depth=64, loops=(64,)), AVX2).ahead == 0
    assert choose(replace(many, batch=1), AVX2).ahead == 0
