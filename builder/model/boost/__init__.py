"""Surrogate language models of BoostAug, and the masked language model of `word-embs`: what builder.augment.boostaug asks for by name."""
