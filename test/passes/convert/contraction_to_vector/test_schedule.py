"""What the cost model chooses, where that was found by measuring."""

from dataclasses import replace

from lamina.compiler.machine import Machine
from lamina.passes.convert.contraction_to_vector.schedule import Problem, Schedule, choose

AVX2 = replace(Machine.preset("x86-64-avx2"), cores=1)


def test_the_panels_of_a_batch_are_asked_for_ahead_where_they_are_many():
    many = Problem(batch=36, rows=16, columns=256, depth=256, element_bytes=4, lanes=16, loops=(256,))
    assert choose(many, AVX2).ahead == choose(replace(many, rows=12), AVX2).ahead == 2
    assert choose(replace(many, rows=24), AVX2).ahead == 4
    assert choose(replace(many, rows=6), AVX2).ahead == 0
    assert choose(replace(many, columns=64, depth=64, loops=(64,)), AVX2).ahead == 0
    assert choose(replace(many, batch=1), AVX2).ahead == 0


def test_a_matrix_that_lies_row_by_row_and_is_read_once_is_read_so():
    in_place = Problem(
        batch=1, rows=1, columns=4096, depth=4096, element_bytes=4, lanes=16, loops=(4096,), packed=False
    )
    assert choose(in_place, AVX2) == Schedule(rows=1, depth=8, unroll=8)
    assert choose(replace(in_place, depth=4095, loops=(4095,)), AVX2).depth == 7
    assert choose(replace(in_place, columns=512), AVX2).depth == 8
    assert choose(in_place, replace(AVX2, cores=2)).panel_blocks == 2
    small = replace(in_place, columns=256, depth=256, loops=(256,))
    assert choose(small, AVX2).depth == choose(replace(in_place, in_memory=False), AVX2).depth == 0


def test_vectors_that_are_lines_go_three_wide():
    square = Problem(batch=1, rows=1024, columns=1024, depth=1024, element_bytes=4, lanes=16, loops=(1024,))
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1)
    assert (choose(square, avx512).rows, choose(square, avx512).panels) == (8, 3)
    assert (choose(square, AVX2).rows, choose(square, AVX2).panels) == (6, 1)


def test_rows_that_share_a_set_of_the_first_cache_are_no_more_than_it_has_lines():
    deep = Problem(batch=1, rows=64, columns=64, depth=4096, element_bytes=4, lanes=16, loops=(4096,))
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1, l1_bytes=8 * 4096)
    assert choose(deep, avx512).rows == 8
    assert choose(replace(deep, depth=4080, loops=(4080,)), avx512).rows > 8
    assert choose(replace(deep, depth=512, loops=(512,)), avx512).rows > 8  # two sets
    assert choose(replace(deep, rows=44), replace(avx512, l1_bytes=12 * 4096)).rows == 11
    assert choose(replace(deep, rows=44), avx512).rows <= 8


def test_panels_that_come_from_memory_for_one_row_go_two_at_a_time():
    logits = Problem(batch=1, rows=1, columns=50257, depth=768, element_bytes=4, lanes=16, loops=(768,))
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1)
    assert choose(logits, avx512) == Schedule(rows=1, panels=2, unroll=4)
    assert choose(replace(logits, lanes=32), avx512).panels == 1
    assert choose(replace(logits, columns=256), avx512).panels == 8  # L2 has them
    assert (
        choose(replace(logits, columns=416), replace(avx512, l2_bytes=1 << 21)).panels == 8
    )  # a set of L1 has twelve lines
    assert choose(replace(logits, columns=416), replace(avx512, l2_bytes=1 << 21, l1_bytes=32768)).panels == 4
    assert choose(replace(logits, rows=2), avx512).panels > 2 and choose(logits, AVX2).panels > 2


def test_vectors_that_are_lines_go_several_rounds_at_a_time():
    """As many as divide the stretches between two requests, the blocks of k, or the innermost loop."""
    square = Problem(batch=1, rows=1024, columns=1024, depth=1024, element_bytes=4, lanes=16, loops=(1024,))
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1)
    assert choose(square, avx512).unroll == 4
    assert choose(replace(square, depth=129, loops=(129,)), avx512).unroll == 3
    assert choose(replace(square, depth=9 * 128, loops=(3, 3, 128)), avx512).unroll == 4
    assert choose(replace(square, depth=127, loops=(127,)), avx512).unroll == 1
    few = choose(replace(square, rows=49, columns=2048, depth=510, loops=(510,)), avx512)
    assert few.ahead == 6 and few.unroll == 3
    assert choose(replace(square, lanes=32), avx512).unroll == 1


def test_vectors_that_are_less_than_a_line_go_several_rounds_at_a_time_too():
    """All rounds of a short loop; sums of bytes and halves have no registers left for it."""
    square = Problem(batch=1, rows=1024, columns=1024, depth=1024, element_bytes=4, lanes=16, loops=(1024,))
    assert choose(square, AVX2).unroll == 4
    assert choose(replace(square, depth=147, loops=(21, 7)), AVX2).unroll == 7
    assert choose(replace(square, depth=189, loops=(21, 9)), AVX2).unroll == 3
    assert choose(replace(square, in_memory=False), AVX2).unroll == 1


def test_sums_are_more_than_hide_the_latency_where_vectors_are_less_than_a_line():
    for depth in (32, 64, 128):
        shallow = Problem(batch=1, rows=512, columns=784, depth=depth, element_bytes=4, lanes=16, loops=(depth,))
        assert (choose(shallow, AVX2).rows, choose(shallow, AVX2).panels) == (6, 1)


def test_rows_of_b_that_lie_apart_are_passed_by_few_tiles():
    stem = Problem(batch=1, rows=64, columns=112, depth=147, element_bytes=4, lanes=16, loops=(7, 21), packed=False)
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1)
    assert (choose(stem, avx512).rows, choose(stem, avx512).panels) == (6, 4)
    assert choose(replace(stem, packed=True), avx512).rows == 8


def test_blocks_of_the_sum_leave_room_in_the_first_cache() -> None:
    square = Problem(batch=1, rows=2048, columns=2048, depth=2048, element_bytes=4, lanes=16, loops=(2048,))
    sizes = {(48, 2048): 1024, (48, 1024): 1024, (32, 1024): 512}  # Sapphire Rapids, Zen 5, Zen 4
    for (l1, l2), expected in sizes.items():
        machine = replace(Machine.preset("x86-64-avx512"), l1_bytes=l1 << 10, l2_bytes=l2 << 10)
        assert choose(square, machine).depth == expected


def test_blocks_of_k_hold_all_panels_of_a_tile_where_vectors_are_lines():
    deep = Problem(batch=1, rows=128, columns=768, depth=3072, element_bytes=4, lanes=16, loops=(3072,))
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1)
    assert (choose(deep, avx512).depth, choose(deep, avx512).ahead) == (1024, 16)
    assert choose(deep, replace(AVX2, l2_bytes=avx512.l2_bytes)).depth == 0


def test_two_strips_ask_for_the_next_panels_where_vectors_are_lines():
    flat = Problem(batch=1, rows=16, columns=1000, depth=2048, element_bytes=4, lanes=16, loops=(2048,))
    assert choose(flat, replace(Machine.preset("x86-64-avx512"), cores=1)).ahead == 2
    assert choose(replace(flat, rows=8), replace(Machine.preset("x86-64-avx512"), cores=1)).ahead == 0


def test_panels_of_a_deep_window_stay_in_the_cache_from_strip_to_strip():
    avx512 = Machine.preset("x86-64-avx512")
    deep = Problem(
        batch=1, rows=196, columns=256, depth=9 * 960, element_bytes=4, lanes=16, packed=True, loops=(3, 3, 960)
    )
    assert choose(deep, avx512).panels * 16 * 9 * 960 * 4 <= avx512.l2_bytes
    assert choose(replace(deep, depth=9 * 64, loops=(3, 3, 64)), avx512).panels > 2
    assert choose(replace(deep, rows=6), avx512).panels > 2


def test_blocks_of_k_are_deep_where_vectors_are_not_lines():
    """Each block passes C once more: a panel of B has a quarter of L2, and rows of A are as many as pay for it."""
    square = Problem(
        batch=1, rows=4096, columns=4096, depth=4096, element_bytes=4, lanes=16, copies=True, loops=(4096,)
    )
    chosen = choose(square, AVX2)
    assert chosen.depth == 2048 and chosen.depth * 16 * 4 == AVX2.l2_bytes // 4
    assert (4096 // chosen.rows) // chosen.row_blocks >= 15
    assert choose(replace(square, depth=2048, loops=(2048,)), AVX2).depth == 0
    assert choose(replace(square, depth=4097, loops=(4097,)), AVX2).depth == 2048


def test_threads_keep_the_panels_that_they_packed_where_rows_stay_in_the_cache():
    square = Problem(batch=1, rows=256, columns=256, depth=256, element_bytes=4, lanes=16, loops=(256,), packs=True)
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=2, l2_bytes=2 << 20)
    assert (choose(square, avx512).row_blocks, choose(square, avx512).panel_blocks) == (1, 2)
    assert choose(replace(square, packs=False), avx512).panel_blocks == 1
    assert choose(replace(square, rows=768, columns=768, depth=768, loops=(768,)), avx512).panel_blocks == 1


def test_the_rounds_of_a_deep_window_are_blocks_of_k():
    """Where the panels of a tile take more than a quarter of L2: rows of A pass once for each block, all of them."""
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1, l2_bytes=1 << 21)
    deep = Problem(batch=1, rows=196, columns=256, depth=9 * 256, element_bytes=4, lanes=16, loops=(3, 3, 256))
    assert (choose(deep, avx512).depth, choose(deep, avx512).row_blocks) == (1, 1)
    assert choose(replace(deep, depth=9 * 128, loops=(3, 3, 128)), avx512).depth == 0
    assert choose(replace(deep, columns=48, depth=128 * 48, loops=(128, 48)), avx512).depth == 16
    assert choose(replace(deep, in_memory=False), avx512).depth == 0
    assert choose(deep, replace(AVX2, l2_bytes=1 << 21)).depth == 0


def test_panels_have_half_of_the_second_cache_where_rows_come_from_the_last_one():
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1, l1_bytes=48 << 10, l2_bytes=1 << 20)
    zen_5 = replace(avx512, cpu="znver5")
    square = Problem(
        batch=1, rows=4096, columns=4096, depth=4096, element_bytes=4, lanes=16, copies=True, packed=True, loops=(4096,)
    )
    assert (choose(square, avx512).depth, choose(square, zen_5).depth) == (1024, 2048)
    chosen = choose(square, zen_5)
    block = 4096 // chosen.row_blocks * chosen.depth * 4
    assert zen_5.l2_bytes < block <= 3 * zen_5.l2_bytes
    assert choose(replace(square, depth=3000, loops=(3000,)), zen_5).depth == 0


def test_large_results_of_few_steps_are_written_a_few_rows_at_a_time():
    shallow = Problem(batch=1, rows=2048, columns=2048, depth=64, element_bytes=4, lanes=16, loops=(64,))
    avx512 = replace(Machine.preset("x86-64-avx512"), cores=1, l2_bytes=2 << 20)
    assert choose(shallow, avx512).row_blocks == 128  # two strips of eight rows
    assert choose(replace(shallow, depth=256, loops=(256,)), avx512).row_blocks < 16
    assert choose(replace(shallow, rows=128), avx512).row_blocks == 1  # L2 holds the results
    assert choose(replace(shallow, rows=32768, columns=128), avx512).row_blocks < 400  # short rows lie together
    assert choose(replace(shallow, columns=8192), avx512).row_blocks == 1  # L2 does not hold the panels
    assert choose(shallow, replace(avx512, cores=2)).row_blocks >= 128
    assert choose(shallow, AVX2).row_blocks < 16


def test_few_rows_of_a_tile_that_waits_anyhow_are_taken_together():
    few = Problem(batch=1, rows=3, columns=64, depth=256, element_bytes=4, lanes=16, loops=(2, 128), packed=False)
    assert (choose(few, AVX2).rows, choose(few, AVX2).panels) == (3, 1)


def test_rows_that_overlap_stay_in_the_second_cache():
    """Those of a window of 128 taps on 101 places."""
    window = Problem(batch=16, rows=101, columns=48, depth=128 * 48, element_bytes=4, lanes=16, loops=(128, 48))
    one = replace(AVX2, cores=1)
    assert choose(window, one).row_blocks == 3
    assert choose(replace(window, left=4 * 48 * 228), one).row_blocks == 1
    assert choose(replace(window, left=one.l2_bytes), one).row_blocks == 3
