"""What is known about other people's modules: names, calls, borrowing, SynFlow's positive flow."""
