"""The exception that means "your input, not our code": its text names the problem and the fix."""


class TabpetError(Exception):
    """A problem that the person running tabpet can fix; shown without a traceback."""
