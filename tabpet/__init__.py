"""Positional encodings from feature graphs for tabular transformers."""

__version__ = "0.1.0"
