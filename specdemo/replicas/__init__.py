"""More machines than one: replicas of the engine on Ray Serve, for a page that holds no pair itself."""
