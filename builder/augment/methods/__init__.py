"""The augmentation methods, one a file; builder.augment.catalog lists them by name."""
