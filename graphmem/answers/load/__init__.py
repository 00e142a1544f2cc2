"""What a saved model holds, and what loading it costs in each way."""
