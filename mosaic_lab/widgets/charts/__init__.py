"""Charts, live in a page and as pictures that stay, and the numbers on them."""
