"""The stages of the workflow, one class each: see `replitune.experiment.stage`."""
