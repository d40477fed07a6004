"""Foundations without mechanics: errors, statuses, arrays of numbers, argument checks, progress and interrupts."""
