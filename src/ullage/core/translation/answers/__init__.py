"""Answers: events out of each dialect, and into each dialect, streamed or whole."""
