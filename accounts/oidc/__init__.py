"""Single sign-on: an OpenID Connect provider says who somebody is and, by a claim, in which teams (docs/sign-in.md)."""
