"""The exception that means "your input, not our code": its text names the problem and the fix."""


class TabpetError(Exception):
    """A problem that the person running tabpet can fix; shown without a traceback."""


class FileError(TabpetError, ValueError):
    """A file that does not hold what it should."""


class TableError(TabpetError, ValueError):
    """A table or a target that can't be used; scikit-learn expects a ValueError there."""
