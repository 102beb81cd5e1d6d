"""What can be done with frames of events and records, function by function."""
