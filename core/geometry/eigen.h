/* Eigenvectors of symmetric 3x3 matrices. Internal to core. */
#ifndef OBB_EIGEN_H
#define OBB_EIGEN_H

#include "core/geometry/vec.h"

/* A symmetric matrix, positive semidefinite up to rounding. */
typedef struct obb_symmetric {
    double xx, yy, zz, xy, yz, zx;
} obb_symmetric;

/* Writes orthonormal, right-handed eigenvectors and their eigenvalues, in no particular order.
 *
 * A matrix that is diagonal up to rounding (4e-15 of the geometric mean of the two diagonal terms)
 * gives exactly the coordinate axes, so that equal eigenvalues do not make a frame out of noise.
 *
 * Accuracy small eigenvalues are as accurate, relatively, as the matrix defines them. No libm
 *          except sqrt and fabs.
 * Cost     about 5 sweeps of three rotations.
 * Source   the cyclic method of Jacobi; Golub and Van Loan, "Matrix Computations", 4th ed., 8.5;
 *          the stopping rule of Demmel and Veselic, "Jacobi's Method is More Accurate than QR",
 *          SIAM J. Matrix Anal. Appl. 13(4), 1992. */
void obb_eigen_symmetric(const obb_symmetric *m, obb_vec3 out_vectors[static 3],
                         double out_values[static 3]);

#endif
