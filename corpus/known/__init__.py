"""The root causes that are known, one `*.toml` each, and the triggers of some of them."""
