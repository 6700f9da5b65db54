"""The bench: does augmented data train better models than the source alone, and where does it lie in feature space
(Yang and Li 2022, section 4).
"""
