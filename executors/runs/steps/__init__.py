"""The actions of the steps of runs, one file for each group."""
