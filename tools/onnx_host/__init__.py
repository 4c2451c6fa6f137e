"""What of ONNX has no generated code (strings, sequences, optionals, maps, images), run between compiled pieces."""
