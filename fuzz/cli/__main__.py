"""`python -m relaxfuzz.fuzz.cli`: the same as `relaxfuzz`."""

from . import main

main()
