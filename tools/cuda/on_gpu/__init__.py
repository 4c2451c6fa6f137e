"""Builds, checks and times the CUDA target on the GPU of this machine: `python -m lamina.tools.cuda.on_gpu`."""
