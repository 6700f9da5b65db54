"""Gold: the pool of candidates, the files and the page on which people label it, the language model as judge, and
their agreement.

Pure but for the page and the judge's client: records in, records and text out; the database is read and written by
`stages`.
"""
