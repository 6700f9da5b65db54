"""Measurements, and other scripts that people run: what is here is no test, but for `test_*.py`, which test scripts."""
