"""What curves come to: models behind them, their shape, and who is first where."""
