"""Models that rewrite labelled sentences: networks, training, decoding. The methods that use them are in builder.augment."""
