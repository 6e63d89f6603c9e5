"""Positional encodings from feature graphs, and their controls (Methodology, "Positional Encoding
Creation")."""

from tabpet.encodings.controls import CONTROLS, control
from tabpet.encodings.encoding import Encoding, encode
from tabpet.encodings.k_selection import KChoice, select_k

__all__ = ["CONTROLS", "Encoding", "KChoice", "control", "encode", "select_k"]
