"""Property tests draw the same examples in every run: a build that passed passes again."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
