"""Files of strangers to reviews, and reviews to texts that can be read.

In: paths. Out: `sources` streams `RawReview` and `RejectedRow`; `text.view` shows a text as it was meant (`script`,
`repair`, `folding`), with offsets back into the text as given; `dedup` finds near-duplicates; `privacy`
masks persons, places and addresses.

Start reading at `sources` and `text`.
"""
