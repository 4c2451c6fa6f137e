"""`lamina systolic`: programs of systolic arrays, their hardware, and its check against the models."""
