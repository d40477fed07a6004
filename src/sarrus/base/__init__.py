"""What every other package stands on: errors, statuses, arrays of numbers, progress and interrupts."""
