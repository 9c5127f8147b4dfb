"""The notebook page as widgets need it: where they are shown, who sees them, which outputs stay."""
