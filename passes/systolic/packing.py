"""Weights, biases and scales as the array takes them."""

from __future__ import annotations

from math import ceil

import numpy as np

from ...compiler.systolic_machine import SystolicMachine
from ...compiler.weights import Array
from .geometry import Windows


def blocked(weights: Array, windows: Windows, machine: SystolicMachine) -> Array:
    """[kh, kw, channels, filters] as [blocks of filters, blocks of channels, taps, rows, cols], zeros where it ends."""
    height, width, channels, filters = weights.shape
    flat = weights.reshape(height, 1, width * channels, filters) if windows.packed else weights
    planes, blocks = ceil(windows.run / machine.rows), ceil(filters / machine.cols)
    padded = np.zeros((*flat.shape[:2], planes * machine.rows, blocks * machine.cols), np.int8)
    padded[:, :, : flat.shape[2], :filters] = flat
    tiles = padded.reshape(-1, planes, machine.rows, blocks, machine.cols)
    return np.ascontiguousarray(tiles.transpose(3, 1, 0, 2, 4))


def blocked_lanes(weights: Array, machine: SystolicMachine) -> Array:
    """[kh, kw, channels] as [blocks of channels, taps, cols], zeros where it ends."""
    taps, channels = weights.shape[0] * weights.shape[1], weights.shape[2]
    blocks = ceil(channels / machine.cols)
    padded = np.zeros((taps, blocks * machine.cols), np.int8)
    padded[:, :channels] = weights.reshape(taps, channels)
    return np.ascontiguousarray(padded.reshape(taps, blocks, machine.cols).transpose(1, 0, 2))


def table_of(bias: Array, scale: Array, machine: SystolicMachine) -> Array:
    """[blocks, cols, 2]: biases, and the bits of scales; 0 and 0 where it ends."""
    blocks = ceil(bias.size / machine.cols)
    table = np.zeros((blocks * machine.cols, 2), np.int32)
    table[: bias.size, 0] = bias
    table[: bias.size, 1] = np.ascontiguousarray(scale, np.float32).view(np.int32)
    return table.reshape(blocks, machine.cols, 2)
