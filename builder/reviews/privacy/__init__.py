"""What a release must not show: personal data and names of places, masked with an offset map."""
