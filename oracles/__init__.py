"""What must hold: contracts of passes, oracles, evaluation, execution, reference passes."""
