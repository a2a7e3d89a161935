"""Fitting of measured constants: what is free, how a request depends on it, the fit, the intervals, the file."""
