"""Signals as sums of waves, and the convolutions they make cheap."""
