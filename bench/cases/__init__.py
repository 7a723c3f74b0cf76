"""The benchmarks, one a module; each prints figures and asserts nothing."""
