"""Studies: measured questions that are not a case of `python -m benchmarks`."""
