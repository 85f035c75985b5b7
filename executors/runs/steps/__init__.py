"""What the steps of runs do, one file for each group of them."""
