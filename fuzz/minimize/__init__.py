"""Make a module smaller as long as what is asked for holds."""
