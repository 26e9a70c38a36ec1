"""Kernels learnt by semidefinite programs: PCP and KP."""
