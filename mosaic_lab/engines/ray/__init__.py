"""The engine on Ray: a detached actor reserves each run's resources on a node. Only `engine`, `connection`
and `actor` import Ray, and only in the bridge's environment or on a node."""
