"""Classifiers and aspect taggers of the augmentation papers, to measure augmentation with. `task` says what they read and answer; the rest needs torch."""
