"""Networks, and the players made of them."""
