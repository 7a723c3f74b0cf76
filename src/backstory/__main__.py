"""`python -m backstory` is the same as `backstory`."""

from .cli.main import main

main()
