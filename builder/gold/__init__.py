"""Gold: what people and language models say of triplets, and how good triplets are by it.

In: candidates, label files, answers. Out: `pool` draws what is labelled, `file_formats` reads and writes the files,
`server` with `page` is where people label, `judge` asks a language model, `agreement` and `metrics` count. Pure but for
the page and the judge's client; `store` keeps the labels.

Start reading at `pool` and `metrics.scores`.
"""
