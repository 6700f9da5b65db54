"""Augmentation: labelled sentences to more labelled sentences, and benches that measure what they are worth.

In: a release or a file of labelled sentences, and `catalogue`. Out: `outputs` writes a child release or a file; `bench`
has tables of scores with and without. `methods` has one file a method, which proposes edits and moves no label;
`constraints` keep what holds, `survival` asks a judge what is left of the labels. Only commands import it.

Start reading at `candidates` and `run`.
"""
