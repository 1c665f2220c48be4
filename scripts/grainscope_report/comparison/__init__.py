"""Result files against each other: which questions they share, and what differs beyond chance."""
