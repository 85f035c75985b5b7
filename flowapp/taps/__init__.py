"""Singer taps of this installation: installed and removed on the command line, named by pipelines."""
