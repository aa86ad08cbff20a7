"""Calibration and evaluation on real data."""
