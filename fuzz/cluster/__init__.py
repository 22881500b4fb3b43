"""Campaigns on the workers of a Dask cluster; needs the extra `cluster`."""
