"""What every model is trained with: the training loop, checkpoints, vocabularies, model loading and devices."""
