"""ImageDecoder, by Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.weights import Array
from .operators import on_host, text_of


@on_host("ImageDecoder")
def image_decoder(encoded: Array, pixel_format: bytes | str = "RGB") -> list[Any]:
    """Height, width and channels of u8; what cannot be decoded is empty, as ONNX wants it.

    Raises LaminaError without Pillow.
    """
    try:
        from PIL import Image, UnidentifiedImageError  # pyright: ignore
    except ImportError as error:
        raise LaminaError("ImageDecoder needs Pillow", hint="pip install 'lamina[images]'") from error
    order = text_of(pixel_format)
    mode = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}.get(order)
    if mode is None:
        raise ValueError(f"pixel_format {order!r} is none of RGB, BGR, Grayscale")
    try:
        with Image.open(io.BytesIO(encoded.tobytes())) as image:
            pixels = np.asarray(image.convert(mode))
    except (UnidentifiedImageError, OSError, SyntaxError):
        return [np.zeros((0, 0, 1 if mode == "L" else 3), np.uint8)]
    if order == "BGR":
        return [np.ascontiguousarray(pixels[:, :, ::-1])]
    return [pixels if mode == "RGB" else pixels[:, :, None]]
