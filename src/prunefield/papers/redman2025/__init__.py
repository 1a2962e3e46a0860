"""redman2025: how iterative magnitude pruning discovers local receptive fields (CPAL 2025, PMLR 280, 1274–1291)."""

TITLE = "How Iterative Magnitude Pruning Discovers Local Receptive Fields in Fully Connected Neural Networks"
BIBTEX = """@inproceedings{redman2025,
  title     = {How Iterative Magnitude Pruning Discovers Local Receptive Fields in Fully Connected Neural Networks},
  author    = {Redman, William T and Wang, Zhangyang and Ingrosso, Alessandro and Goldt, Sebastian},
  booktitle = {Conference on Parsimony and Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {280},
  pages     = {1274--1291},
  publisher = {PMLR},
  year      = {2025}
}
"""
