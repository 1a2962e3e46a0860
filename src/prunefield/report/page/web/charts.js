// Charts: drawings that the page makes itself.
