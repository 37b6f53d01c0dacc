"""Server processes: started, watched, and ended in order, with whatever they leave behind."""
