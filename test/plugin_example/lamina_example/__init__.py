"""A plug-in of lamina: a dialect, a pass, a meaning, a frontend, and an ONNX operator of its own domain."""
