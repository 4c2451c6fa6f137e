"""Post-training quantisation: a float ONNX model and samples of its inputs become a QDQ model of bytes."""
