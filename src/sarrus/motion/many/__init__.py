"""Many runs of one system in one call: `sarrus.rollout`, its threads and its result `Rollout`."""
