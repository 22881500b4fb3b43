"""Arguments of functions, and the values that are expected for them."""
