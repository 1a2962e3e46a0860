"""What everything else rests on: plug-ins and their names, seeds, files, errors."""
