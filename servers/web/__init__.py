"""The web: searched, fetched and read, so that a hostile page or address gains nothing."""
