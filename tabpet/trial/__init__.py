"""`tabpet try`: do encodings help on one table? A small experiment in memory, and its answer.

Nothing is imported here, so that the command line can name it without loading torch.
"""
