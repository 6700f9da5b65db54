"""Words, parts of speech, trees, and what words mean.

In: views of texts. Out: `nlp` gives tokens and dependency trees by one of several backends; `lexicon` holds opinions,
aspects and rules as frozen records, checks and imports them. `lexicon.folders` says which words and rules a working
directory was built with.

Start reading at `nlp` and `lexicon.resources`.
"""
