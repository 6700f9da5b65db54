"""Augmentation: labelled sentences to more labelled sentences. One file a method; constraints apart from
transformations.
"""
