"""Several equal networks trained at once: seeds or hyper-parameters of small nets on one device."""
