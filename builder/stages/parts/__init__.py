"""What the stages share, and what is too long to stand in one of them. No module here imports a stage."""
