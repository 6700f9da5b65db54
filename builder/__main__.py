"""`python -m builder`: the same command line as `builder`."""

from builder.cli.main import main

main()
