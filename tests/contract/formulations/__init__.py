"""Formulations that are in no paper of ours, written as a researcher would write them on top of CVXPY."""
