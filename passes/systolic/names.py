"""Attributes of functions by which the passes of systolic arrays, and the backend, speak with each other."""

MACHINE = "systolic.machine"  # on what runs on an array: the array's machine
PROGRAM = "systolic.program"  # on the declaration of a part: the function that has its program
DRAM = "systolic.dram_bytes"  # beside it: how much DRAM the program needs
INPUTS = "systolic.inputs"  # beside it: for each argument the first byte and the shape of its image, and its `gather`
OUTPUTS = "systolic.outputs"  # the same for the results
LAYER = "systolic.layer"  # on the call of a kernel: products of the array, elements of a window, and of its stride
CONSTANTS = "systolic.constants"  # the keys of constants, and the first byte of each
