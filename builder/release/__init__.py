"""The files of a release: data, card, manifest, Croissant and citation; reading, verifying and comparing releases."""
