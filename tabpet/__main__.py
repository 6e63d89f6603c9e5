"""`python -m tabpet`: the same as the `tabpet` command."""

from tabpet.cli import main

main()
