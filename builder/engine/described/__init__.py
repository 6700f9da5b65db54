"""The rule system as section 3.2 of Lu et al. (2024) describes it: convention `described`.

`mentions` declares the parameters of its rules and finds opinions and aspects (3.2.1, 3.2.2), `pairs` pairs and expands
them in the tree (3.2.3) and classifies them (3.2.4), and `system` runs both.
"""
