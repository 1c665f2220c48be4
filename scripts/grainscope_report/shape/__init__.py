"""The shape of curves: dips, plateaus, two speeds and inversions, with likely causes and the next command."""
