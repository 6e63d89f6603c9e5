"""The data stage: from a catalog row to a raw table, its card, and prepared splits."""
