"""The potential argument as a checker, and its rows as formulas."""
