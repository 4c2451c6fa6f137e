"""What is asked of the CUDA target as a whole: all models through it, and all of it on a GPU."""
