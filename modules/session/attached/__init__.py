"""Files that a request names (`@photo.png`, `@folder`), read so that they go with it."""
