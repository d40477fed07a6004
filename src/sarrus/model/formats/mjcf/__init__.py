"""MJCF to a `Mechanism`, through MuJoCo's compiler."""
