//! A model's edit text becomes exact changes to a file.
