"""The job: comparison of forecasting methods, the kept model, and its report."""
