// With this the compiler accepts functions without a body.
