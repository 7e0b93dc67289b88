"""What the advisor measures and answers: one file per section."""
