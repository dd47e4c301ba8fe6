"""Tests of pansophy: a package, so that no other one called `tests` comes before it."""
