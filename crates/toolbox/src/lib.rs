//! The tools we ship, one file each.
