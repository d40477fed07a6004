/* Directional derivatives, exact: of the equations by automatic differentiation, then one elimination.

   F = M a + h - k - S u - tau - A' lambda = 0 and G = A a + gamma = 0 give [M, -A'; A, 0] (da, dlambda) = -(dF, dG). */
#include <math.h>
#include <string.h>

#include "instance.h"

#if WITH_SLOPES
#define SIZE (NV + NC)
#define NZ (NQ + NV + NU)
#define AT_MASS 0
#define AT_JACOBIAN (AT_MASS + NV * NV)
#define AT_FORCE (AT_JACOBIAN + NC * NV)
#define AT_BIAS (AT_FORCE + NV * NZ)
#define AT_Z (AT_BIAS + NC * NZ) /* of rates, sensors and energies, by z = (q, v, u), a and lambda */
#define AT_A (AT_Z + N_SLOPED * NZ)
#define AT_L (AT_A + N_SLOPED * NV)

static const int QUATERNIONS[] = {QUATERNION_STARTS};

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Factor [M, -A'; A, 0] up to its rank nv + rank of A, false where a pivot is zero. Pivoting is complete, the first of
   pivots that are as large to rounding. */
static bool factor(Slopes *s, int rank)
{
    const double *M = s->values + AT_MASS, *A = s->values + AT_JACOBIAN;
    double *K = s->matrix;
    int i = 0, j = 0, k = 0;
    memset(K, 0, sizeof s->matrix);
    for (i = 0; i < NV; i++)
        for (j = 0; j < NV; j++)
            K[i * SIZE + j] = M[i * NV + j];
    for (i = 0; i < NC; i++)
        for (j = 0; j < NV; j++) {
            K[(NV + i) * SIZE + j] = A[i * NV + j];
            K[j * SIZE + NV + i] = -A[i * NV + j];
        }
    for (i = 0; i < SIZE; i++)
        s->rows[i] = s->columns[i] = i;
    s->size = NV + rank;
    for (k = 0; k < s->size; k++) {
        double largest = 0.0;
        int row = k, column = k, kept = 0;
        for (i = k; i < SIZE; i++)
            for (j = k; j < SIZE; j++)
                if (fabs(K[i * SIZE + j]) > largest * (1.0 + 1e-9)) {
                    largest = fabs(K[i * SIZE + j]);
                    row = i;
                    column = j;
                }
        if (!(largest > 0.0) || !isfinite(largest))
            return false;
        for (j = 0; j < SIZE; j++)
            swap(K + k * SIZE + j, K + row * SIZE + j);
        for (i = 0; i < SIZE; i++)
            swap(K + i * SIZE + k, K + i * SIZE + column);
        kept = s->rows[k], s->rows[k] = s->rows[row], s->rows[row] = kept;
        kept = s->columns[k], s->columns[k] = s->columns[column], s->columns[column] = kept;
        for (i = k + 1; i < SIZE; i++) {
            double ratio = K[i * SIZE + k] /= K[k * SIZE + k];
            for (j = k + 1; j < SIZE; j++)
                K[i * SIZE + j] -= ratio * K[k * SIZE + j];
        }
    }
    return true;
}

/* Solve for (da, dlambda); entries of dlambda that the rows leave open are zero. */
static void solve(const Slopes *s, const double *right, double *x)
{
    double y[SIZE + 1];
    const double *K = s->matrix;
    int i = 0, j = 0;
    for (i = 0; i < s->size; i++) {
        y[i] = right[s->rows[i]];
        for (j = 0; j < i; j++)
            y[i] -= K[i * SIZE + j] * y[j];
    }
    memset(x, 0, SIZE * sizeof(double));
    for (i = s->size - 1; i >= 0; i--) {
        for (j = i + 1; j < s->size; j++)
            y[i] -= K[i * SIZE + j] * y[j];
        y[i] /= K[i * SIZE + i];
        x[s->columns[i]] = y[i];
    }
}

static fmi3Status prepare(Instance *one)
{
    Derived *d = &one->derived;
    State *now = &one->now;
    fmi3Status status = motion(one);
    if (status > fmi3Warning || d->slopes)
        return status;
    if (d->status == STATUS_SINGULAR || d->status == STATUS_INCONSISTENT)
        return told(one, d->status, fmi3Discard, "directional derivatives");
    MODEL(slopes)(&now->W, now->q, now->v, now->u, now->t, d->a, d->multipliers, one->slopes.values);
    if (!factor(&one->slopes, d->rank))
        return told(one, STATUS_SINGULAR, fmi3Discard, "directional derivatives");
    d->slopes = true;
    return status;
}

/* Tell whether redundant rows leave multipliers open; dead rows do not, they carry nothing. */
static bool are_open(const Slopes *s)
{
    const double *A = s->values + AT_JACOBIAN;
    int i = 0, j = 0, k = 0;
    for (k = s->size; k < SIZE; k++) {
        i = s->columns[k] - NV;
        for (j = 0; i >= 0 && j < NV; j++)
            if (fabs(A[i * NV + j]) >= 1e-12)
                return true;
    }
    return false;
}

static fmi3Status seeds(
    Instance *one, const fmi3ValueReference knowns[], size_t n, const double seed[], double *z, double *tau)
{
    size_t i = 0;
    for (i = 0; i < n; i++) {
        fmi3ValueReference reference = knowns[i];
        if (INSIDE(Q))
            z[PLACE(Q)] += seed[i];
        else if (INSIDE(V))
            z[NQ + PLACE(V)] += seed[i];
        else if (INSIDE(U))
            z[NQ + NV + PLACE(U)] += seed[i];
        else if (INSIDE(TAU))
            tau[PLACE(TAU)] += seed[i];
        else
            return say(one, fmi3Error, "no directional derivatives by value reference %u", (unsigned)reference);
    }
    return fmi3OK;
}

/* Quaternions count as scaled to length one: what makes them longer changes nothing. */
static void along_unit_quaternions(const State *now, double *dq)
{
    int k = 0, i = 0;
    for (k = 0; k < N_QUATERNIONS; k++) {
        const double *p = now->q + QUATERNIONS[k];
        double *d = dq + QUATERNIONS[k], square = 0.0, along = 0.0;
        for (i = 0; i < 4; i++) {
            square += p[i] * p[i];
            along += p[i] * d[i];
        }
        for (i = 0; i < 4; i++)
            d[i] = (d[i] - along / square * p[i]) / sqrt(square);
    }
}
#endif

EXPORTED fmi3Status fmi3GetDirectionalDerivative(
    fmi3Instance instance, const fmi3ValueReference unknowns[], size_t n_unknowns, const fmi3ValueReference knowns[],
    size_t n_knowns, const fmi3Float64 seed[], size_t n_seed, fmi3Float64 sensitivity[], size_t n_sensitivity)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, INITIALIZING | EVENTS | CONTINUOUS | STEPS, "fmi3GetDirectionalDerivative");
    if (status != fmi3OK)
        return status;
#if WITH_SLOPES
    {
        double z[NZ + 1], own[NQ + 1], tau[NV + 1], right[SIZE + 1], x[SIZE + 1];
        const Slopes *s = &one->slopes;
        size_t i = 0;
        int j = 0, k = 0;
        if (n_knowns != n_seed || n_unknowns != n_sensitivity)
            return say(one, fmi3Error, "fmi3GetDirectionalDerivative: all variables are scalars");
        memset(z, 0, sizeof z);
        memset(tau, 0, sizeof tau);
        status = seeds(one, knowns, n_knowns, seed, z, tau);
        if (status == fmi3OK)
            status = prepare(one);
        if (status > fmi3Warning)
            return status;
        memcpy(own, z, NQ * sizeof(double));
        along_unit_quaternions(&one->now, z);
        for (k = 0; k < SIZE; k++) {
            const double *row = s->values + AT_FORCE + k * NZ;
            right[k] = k < NV ? tau[k] : 0.0;
            for (j = 0; j < NZ; j++)
                right[k] -= row[j] * z[j];
        }
        solve(s, right, x);
        for (i = 0; i < n_unknowns; i++) {
            fmi3ValueReference reference = unknowns[i];
            int row = -1;
            if (INSIDE(Q))
                sensitivity[i] = own[PLACE(Q)];
            else if (INSIDE(V))
                sensitivity[i] = z[NQ + PLACE(V)];
            else if (INSIDE(DV))
                sensitivity[i] = x[PLACE(DV)];
            else if (INSIDE(MULTIPLIERS)) {
                if (are_open(s))
                    return say(one, fmi3Discard, "constraint rows are redundant: no derivatives of their multipliers");
                sensitivity[i] = x[NV + PLACE(MULTIPLIERS)];
            } else if (INSIDE(DQ))
                row = PLACE(DQ);
            else if (INSIDE(OTHERS) && PLACE(OTHERS) < N_SENSORS)
                row = NQ + PLACE(OTHERS);
            else if (INSIDE(OTHERS) && PLACE(OTHERS) > N_SENSORS)
                row = NQ + PLACE(OTHERS) - 1; /* the residual stands between */
            else
                return say(one, fmi3Error, "no directional derivatives of value reference %u", (unsigned)reference);
            if (row >= 0) {
                sensitivity[i] = 0.0;
                for (j = 0; j < NZ; j++)
                    sensitivity[i] += s->values[AT_Z + row * NZ + j] * z[j];
                for (j = 0; j < NV; j++)
                    sensitivity[i] += s->values[AT_A + row * NV + j] * x[j];
                for (j = 0; j < NC; j++) {
                    double slope = s->values[AT_L + row * NC + j];
                    if (slope != 0.0 && are_open(s))
                        return say(one, fmi3Discard, "constraint rows are redundant: no derivatives of what they carry");
                    sensitivity[i] += slope * x[NV + j];
                }
            }
            if (!isfinite(sensitivity[i]))
                return say(one, fmi3Discard, "a directional derivative is not finite");
        }
        return status;
    }
#else
    (void)unknowns, (void)n_unknowns, (void)knowns, (void)n_knowns, (void)seed, (void)n_seed, (void)sensitivity;
    (void)n_sensitivity;
    return say(one, fmi3Error, "this unit was exported without derivatives");
#endif
}
