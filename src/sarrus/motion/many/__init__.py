"""Many runs: `sarrus.rollout` and what it is made of."""
