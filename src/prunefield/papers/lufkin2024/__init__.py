"""lufkin2024: L. Lufkin, A. Saxe, E. Grant, "Nonlinear dynamics of localization in neural receptive fields", NeurIPS
2024."""

TITLE = "Nonlinear dynamics of localization in neural receptive fields"
BIBTEX = """@inproceedings{lufkin2024,
  title     = {Nonlinear dynamics of localization in neural receptive fields},
  author    = {Lufkin, Leon and Saxe, Andrew and Grant, Erin},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {37},
  year      = {2024}
}
"""
