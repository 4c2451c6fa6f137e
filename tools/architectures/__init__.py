"""Architectures of `transformers` at small size with random weights, through ONNX and `torch.export`."""
