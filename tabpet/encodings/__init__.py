"""Positional encodings from feature graphs, and their controls (Methodology, "Positional Encoding
Creation")."""

from tabpet.encodings.controls import control, load_encoding
from tabpet.encodings.encoding import Encoding, encode
from tabpet.encodings.k_selection import KChoice, select_k

__all__ = ["Encoding", "KChoice", "control", "encode", "load_encoding", "select_k"]
