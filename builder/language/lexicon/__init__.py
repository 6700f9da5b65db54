"""Tools for the lexicons: check them, import what people hold, write what they answered.

Every tool writes overlays (`overlay`), folders that `resources.load_lexicon` reads on top of the shipped files, so
that imported words live in the user's working directory and the shipped lexicon stays as it was written.
"""
