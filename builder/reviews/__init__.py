"""Files of strangers to reviews, and reviews to texts that can be read.

In: paths. Out: `sources` streams `RawReview` and `RejectedRow`; `text.view` shows a text as it was meant (`script`,
`repair`), with offsets back into the text as given; `near_duplicates` finds which texts say nearly the same,
and `assignment` keeps these in one split; `masking` hides persons, places and addresses.

Start reading at `sources` and `text`.
"""
