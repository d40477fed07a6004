"""Loads and energy: reactions of joints and closures, energy balances, losses of motors."""
