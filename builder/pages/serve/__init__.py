"""`builder serve`: Datasette over a working directory or a release, with pages of our own. Datasette is imported
behind `app.serve` only.
"""
