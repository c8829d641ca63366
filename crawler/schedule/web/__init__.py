"""The daemon's face on the network: health, metrics, pages for people, and the published files. It only looks."""
