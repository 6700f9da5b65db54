"""What people and language models add to a build that exists.

In: a working directory, and answers. Out: labels of pools (`labelling`, `pooling`), audits, what
labels teach (`lessons`) and what that brings (`gain`), words for another domain (`word_proposals`, `domain_packs`).

Start reading at `labelling`.
"""
