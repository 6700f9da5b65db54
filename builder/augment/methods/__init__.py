"""The augmentation methods, one a file; builder.augment.settings lists them by name."""
