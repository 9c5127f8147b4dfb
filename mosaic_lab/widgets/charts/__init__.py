"""Charts, live in a page and as static pictures, and the numbers on them."""
