"""The codes that tell kernels which score, loss, optimiser or constraint to use. Importing this module does not import numba."""

#: Scores of a residual e = h + r - t: norms, metrics on absolute values or squares, and metrics on e itself.
L1, L2, SQUARED_L2, DIAGONAL, LOW_RANK, FULL, PSD, PSD_LOW_RANK, SIGNED_LOW_RANK = range(9)

#: TransH's epsilon: how far from orthogonal a translation and the normal of its hyperplane may be. The paper does not print its value.
TILT = 0.1

#: Losses of a positive and its negatives.
MARGIN, LOGISTIC, SELF_ADVERSARIAL, SOFTMAX = range(4)

#: Optimisers: Adagrad with one sum of squares per row or per entry; Adam on the rows that a batch touches.
SGD, ADAGRAD_ROW, ADAGRAD, ADAM = range(4)
ADAGRAD_EPSILON = 1e-10
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8

#: Constraints on a row: none, norm at most one, norm exactly one, no negative entry, L1 norm at most one (in torch only).
FREE, BALL, UNIT, NON_NEGATIVE, L1_BALL = range(5)

#: How the steps of a path become one vector: added, multiplied entry by entry, or mapped by a matrix each and then added.
ADD, MUL, RNN = range(3)
