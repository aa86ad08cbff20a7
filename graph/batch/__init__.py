"""Many runs at once: a stream in order, every interrupted run, the cases of a certificate."""
