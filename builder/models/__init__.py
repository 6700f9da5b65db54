"""The embedded models: a tagger that finds triplets, and a discriminator that judges them, small enough to train on
two cores.

In: views of reviews with the triplets of the rule engine. Out: `TripletModel` and `Judge` (builder.learning.task), the
two Protocols that every model of this package meets. torch is imported by the modules that need it, never by `task` or
this one.

Start reading at `kinds`, which names the models; `shipped` reads with the one that builder brings.
"""
