"""File formats of semidefinite programs: SDPA and CBF."""
