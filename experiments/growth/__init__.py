"""How cost grows: with the batch, with devices and processes, with simulations, with the size of trees."""
