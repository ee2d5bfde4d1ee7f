"""What all rooms use: text, files, errors, signals, progress."""
