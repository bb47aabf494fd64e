"""Networks: encoders, heads, masked distributions, and the precision they compute in."""
