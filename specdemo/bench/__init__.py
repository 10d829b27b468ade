"""Speed: our lanes beside other engines on the same weights, in turns, by one clock."""
