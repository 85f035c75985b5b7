"""Programs in processes of their own, with limits that the kernel enforces."""
