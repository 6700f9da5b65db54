"""A release: the directory of files that a build ends in, made, checked, compared and given away.

In: rows of reviews and `manifest.Facts` about them; or a release on the disk. Out: `package` writes data, card,
manifest, Croissant and citation as a whole or not at all. `verify` finds faults, `gates` say what no release may hold,
`diff` compares two, `hub` publishes, `export` writes other people's formats and reads their answers.

Start reading at `export.native_rows`, which has the row, then `package`.
"""
