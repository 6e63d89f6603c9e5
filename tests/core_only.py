"""Run as a script: Python as if only the core's packages were installed, then what is asked for.

    python core_only.py <folder of the package> <module or -c> ...

Packages that the core's requirements do not lead to are not found, as on a machine without them.
"""

import importlib.machinery
import runpy
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

from packaging.requirements import Requirement


def closure(name: str, found: set[str]) -> set[str]:
    """A distribution and all that it requires without extras, by normalised names."""
    key = name.lower().replace("_", "-").replace(".", "-")
    if key in found:
        return found
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return found
    found.add(key)
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            closure(requirement.name, found)
    return found


class CoreFinder(importlib.machinery.PathFinder):
    """Finds the standard library and the core, and nothing else."""

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return super().find_spec(fullname, path, target)


def main() -> None:
    folder, command, *arguments = sys.argv[1:]
    sys.path.insert(0, folder)
    core = closure("tabpet", set())
    CoreFinder.hidden = frozenset(
        module
        for module, names in packages_distributions().items()
        if not {name.lower().replace("_", "-").replace(".", "-") for name in names} & core
    )
    sys.meta_path[:] = [
        CoreFinder if finder is importlib.machinery.PathFinder else finder
        for finder in sys.meta_path
        if not getattr(finder, "__name__", "").startswith("_Editable")
    ]
    for name in list(sys.modules):
        if name.partition(".")[0] in CoreFinder.hidden:
            del sys.modules[name]
    import tabpet

    assert tabpet.__file__.startswith(folder), tabpet.__file__
    if command == "-c":
        exec(arguments[0], {"__name__": "__main__"})
    else:
        sys.argv = [command, *arguments]
        runpy.run_module(command, run_name="__main__")


main()
