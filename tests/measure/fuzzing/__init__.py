"""The families of hostile input of `tests/measure/fuzz.py`: what strangers may send, made from a seed and a number."""
