"""Transformers with positional encodings, several members (alphas of a seed) in one module."""
