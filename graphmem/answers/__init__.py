"""What people want to know, answered on the analysis."""
