"""Classifiers and aspect taggers of the augmentation papers, which only the bench trains."""
