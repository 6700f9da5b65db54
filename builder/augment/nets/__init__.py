"""Networks that rewrite labelled sentences: training and decoding, for the methods in builder.augment.methods."""
