"""What servers, plans and doubts ask the person at the terminal: forms, pages, a yes or no."""
