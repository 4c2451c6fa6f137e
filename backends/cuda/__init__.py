"""Target `cuda`: NVIDIA GPUs."""
