"""What has no domain: errors, frozen values, JSON, the cache, places on disk, signals. Imports only itself."""
