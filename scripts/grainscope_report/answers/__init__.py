"""What a run comes to, a sentence a question, for people who read nothing else."""
