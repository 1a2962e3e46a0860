"""Where runs are kept, and how they are executed."""
