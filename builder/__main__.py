"""`python -m builder`: the same command line as `builder`."""

from builder.cli import main

main()
