"""bar2023: N. Bar, R. Giryes, "Pruning at Initialization – A Sketching Perspective", arXiv:2305.17559 (2023)."""

TITLE = "Pruning at Initialization – A Sketching Perspective"
BIBTEX = """@article{bar2023,
  title         = {Pruning at Initialization -- A Sketching Perspective},
  author        = {Bar, Noga and Giryes, Raja},
  year          = {2023},
  eprint        = {2305.17559},
  archivePrefix = {arXiv},
  primaryClass  = {cs.LG}
}
"""
