"""The rule system as section 3.2 of Lu et al. (2024) describes it: convention `described`.

`steps` declares the parameters of its rules, `mentions` finds opinions and aspects (3.2.1, 3.2.2), `pairs` pairs and
expands them in the tree (3.2.3), `polarity` classifies them (3.2.4), and `system` runs the four.
"""
