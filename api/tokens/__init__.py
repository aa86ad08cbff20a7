"""Bearer tokens of an OpenID Connect issuer, checked against its published keys (R6-7). Optional (extra `oidc`)."""
