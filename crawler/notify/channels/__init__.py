"""Those who are told what changed: search engines, hubs, people, programs. Speaks their protocols, decides nothing."""
