"""What every other room stands on: records, errors, settings, files, and who works.

In: nothing of ours. Out: `records` (a triplet, its spans and story), `errors` (one line, exit code 2), `settings` and
`config` (what a user can set, and where it came from), `files` (written whole or not at all), `code` (digests of what
made a thing), `shards` (processes of this machine, or a dask cluster).

Start reading at `records`.
"""
