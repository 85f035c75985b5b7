"""What sources that follow the log of a database share."""
