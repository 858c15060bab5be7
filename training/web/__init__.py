"""Playing and watching games on a page that is served on this machine."""
