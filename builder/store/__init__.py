"""The database of a working directory. SQL stands here and nowhere else.

In: records. Out: records. `db` opens, locks and migrates it; each other module reads and writes one subject; `schema/`
holds its tables with their comments, `queries/` the questions with a name.

Start reading at `schema/017_base.sql` and `db`.
"""
