"""Pieces of the patterns that recognise models."""

from __future__ import annotations

from ullage.core.profiles.records import ImageRule

# Digits of a version end here, so that a date behind a name is no minor version (accounting specification, section 4.2).
END = r"(?=$|[-.:@])"
END_OF_MAJOR = r"(?=$|[-:@])"
START = r"(?:^|[/.])"

NO_IMAGES_KNOWN = ImageRule(kind="unknown", unknown_low=85, unknown=1_200, unknown_high=5_000)
