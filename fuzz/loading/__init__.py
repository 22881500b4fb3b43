"""Read the input of users (modules, seeds and passes) in processes of their own."""
