"""The commands for programs written as text: check, fmt, test, explain."""
