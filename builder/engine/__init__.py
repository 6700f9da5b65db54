"""The rule engine of section 3.2 of the paper, pure: an annotated view in, triplets with their reasons out."""

from builder.engine.choosing import RuleEngine, make_engine
from builder.engine.engine import Engine
from builder.engine.reading import Doc

__all__ = ["Doc", "Engine", "RuleEngine", "make_engine"]
