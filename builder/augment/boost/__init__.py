"""BoostAug (Yang and Li 2022): folds, filters, and the surrogate models that decide which candidates stay."""
