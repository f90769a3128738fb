"""The colours of the two plans and of the context found, in reports and charts alike."""

__all__ = ["ALTERNATIVE", "DECISION", "THEN"]

# Blue and orange stay apart for every kind of colour blindness; line style and fill tell them apart without colour.
DECISION, ALTERNATIVE = "#0b62a8", "#b8500b"
THEN = "#00845f"
