"""The stages of the workflow, one object each: see `replitune.experiment.stage`."""
