"""The seven stages of the pipeline, one module each with a function `run(context)`; their shared code stands
beside this package, by subject."""
