"""Keys of services: in the environment or in the system's keyring."""
