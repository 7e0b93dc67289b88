"""The words of each section: result types to text, nothing else."""
