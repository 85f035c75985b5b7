"""WebAssembly modules of custom transforms: admins upload them and grant access, editors use them in documents."""
