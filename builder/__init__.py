"""From raw Chinese restaurant reviews to versioned datasets of aspect sentiment triplets, without human labels."""

__version__ = "0.2.0"
