"""What others were told of a site, in ``notify.db`` of its state: how far, what is under way, what was refused."""
