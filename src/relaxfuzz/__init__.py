"""Pass-level fuzzing and differential testing for Apache TVM's Relax IR."""
