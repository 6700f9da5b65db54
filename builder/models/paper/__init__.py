"""The paper profile: sequence-to-sequence models that write triplets and answer questions (Lu et al. 2024, sections
3.3 and 4.2).
"""
