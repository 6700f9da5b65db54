"""Near-duplicates: which texts say nearly the same, for ingest, splits, release and augmentation."""
