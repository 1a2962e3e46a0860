"""What Tables 1 to 4 of bar2023 leave open, and how it was decided here."""

CHOICES = (
    "Night scale is the ResNet-20 of the tables (width 16) on CIFAR-10 averaged to 16 × 16 pixels, and for Table 3 on "
    "Tiny ImageNet, with far fewer training steps than the paper's 62,560; each claim says how many. A pilot (seeds 0 "
    "to 7, 600 steps; its steps and its density had been changed once each) missed the gate with dense networks of "
    "50.7 and 48.1%; it showed a gain of +1.60 points (+0.03 to +3.18) by sampling SynFlow's mask. What counts is a "
    "second experiment, declared after that, with seeds 8 to 15 and 1,000 steps: sizes, seeds, the primary comparison "
    "of each table, the margin of ±0.5 points, the gate and the order of the runs were committed before its first "
    "run. Smoke and laptop scale decide nothing, since their networks are in none of the tables.",
    "Verdicts are given separately for each network family. Comparisons are paired: the same seed has the same initial "
    "weights and batches in all columns. The gate: a dense network above a stated accuracy, and SynFlow above Random "
    "by the 95% interval at the same density; otherwise nothing is testable. A claim is `reproduced` if the paired "
    "t-test shows a gain, however small, `not reproduced` if it shows a loss, or if it shows neither and two one-sided "
    "tests show a difference within ±0.5 points; secondary comparisons are corrected by Holm's method for their "
    "declared number. Missing seeds are not extrapolated.",
    "Intervals of printed means come from the printed deviations over three seeds, as if runs were not paired; Table 3 "
    "prints none, so its interval is over cells. Printed differences are decided as those of our runs are, but without "
    "a correction for their number. What they show must hold whichever cell is left out, and cells in which both "
    "columns are at chance do not count. 62,560 steps are the paper's 160 epochs of 50,000 images in batches of 128.",
    "This rule for printed differences was made when the numbers were known: until 18 November 2026 one was `not "
    "reproduced` if it was above zero in at most half of the cells, or not above zero on average. On that day two "
    "readings changed, too: `comparable`, the paper's word for the sampled masks of Table 2, includes a difference "
    "that is shown to be within ±0.5 points; and the chi input added to a sampled mask became a question of our own, "
    "as the paper compares it with the original SynFlow alone.",
    "ResNet-20 has the width 16. The printed CIFAR-100 rows of SNIP and GraSP (67% at 10%) are probably from a network "
    "twice as wide as those of SynFlow, IMP, Random and Magnitude (50 to 58%), so rows are compared only within a "
    "method.",
    "Scores are computed in eval mode with a global threshold, classifier included; SNIP and GraSP use 256 examples, "
    "and SynFlow runs for 100 iterations with a new chi input in each. The paper does not say when the mask is "
    "sampled: for SynFlow it is sampled in every iteration, where the code that the paper builds on thresholds. "
    "GraSP's sampling probabilities are the positive parts of its scores.",
    "IMP: level l has the density ρ^{(l+1)/L}, so that ρ is reached exactly; weights are rewound to the step that "
    "the paper calls warm-up; random data is a fixed set of N(0, 1) images with uniform labels, without "
    "augmentation; the last mask is then trained on the real data from the rewound weights, with as many steps less "
    "as these have seen, so that all columns take the same number of steps. Its batches are those of the other columns "
    "from there on; before, they are those of its own training.",
)
