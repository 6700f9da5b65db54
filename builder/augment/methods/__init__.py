"""The augmentation methods, one a file; builder.augment.catalogue lists them by name."""
