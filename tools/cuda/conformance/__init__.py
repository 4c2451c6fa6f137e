"""Conformance: each form of an instruction that kernels use, on a GPU and in the emulator, bit for bit."""

from .compare import Outcome, conform
from .forms import forms, uncovered

__all__ = ["Outcome", "conform", "forms", "uncovered"]
