"""The schedule at work: a loop over a clock, and whoever runs a site."""
