"""How fast the log makes events durable, against a plain file that is fsynced as often."""
