"""The stages of the pipeline, one module each with a function run(context), and what several of them share."""
