"""A build: seven stages over one database, run, stopped and resumed.

In: review files and settings (`builds`). Out: a working directory with every intermediate result, and a release.
`pipeline` holds the table of stages and runs what is due; `stages` has a module for each; the modules beside them are
what stages share, by subject. `extraction` answers about texts outside a build, `outcome` speaks before and after one.

Start reading at `pipeline`, then `stages.seed`.
"""
