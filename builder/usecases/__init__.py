"""What commands do besides running the pipeline: one module a use case, each a function over a working directory or a
release.
"""
