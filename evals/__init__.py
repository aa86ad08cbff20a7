"""Calibration and evaluation over real data."""
