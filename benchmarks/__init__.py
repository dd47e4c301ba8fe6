"""Speed against the peers, measured as ratios. Run with `make bench`."""
