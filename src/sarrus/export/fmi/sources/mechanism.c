/* A mechanism: what follows from its state, its constraints, and its steps. */
#include <math.h>
#include <string.h>

#include "instance.h"

#if !WITH_LAW
#define OPEN 1e-5 /* constraints that are violated by more do not belong to a state, relatively */
#define MOST_STEPS 1e9

static const char *const ROWS[] = {ROW_NAMES};
static const double FACTORS[] = {GAP_FACTORS}; /* of position and velocity residuals, to characteristic units */

/* Return the largest violation of a constraint in characteristic units, and its row. */
static double largest_gap(Instance *one, int *row, bool *of_velocity)
{
    double gaps[NH + NC + 1], worst = 0.0, fastest = 0.0;
    int i = 0;
    MODEL(gaps)(&one->now.W, one->now.q, one->now.v, one->now.t, gaps);
    for (i = 0; i < NV; i++)
        fastest = fmax(fastest, fabs(one->now.v[i]));
    for (i = 0; i < NH + NC; i++) {
        double size = fabs(FACTORS[i] * gaps[i]) / (i < NH ? 1.0 : 1.0 + fastest);
        if (!(size <= worst)) {
            worst = size;
            *row = i < NH ? i : i - NH;
            *of_velocity = i >= NH;
            if (isnan(size))
                return INFINITY;
        }
    }
    return worst;
}

/* Tell whether the state is farther from the constraints than the tolerance, beside what a projection leaves. */
bool has_opened(Instance *one)
{
    int row = 0;
    bool of_velocity = false;
    return largest_gap(one, &row, &of_velocity) > one->now.tolerance + 2.0 * one->now.rest;
}

/* Forward dynamics and rates at the state. */
fmi3Status motion(Instance *one)
{
#if WITH_CONTACTS
    return say(one, fmi3Error, "with contacts there are steps, no accelerations");
#else
    State *now = &one->now;
    Derived *d = &one->derived;
    if (!d->motion) {
        motion_of_model found;
        memset(&found, 0, sizeof found);
        d->status = MODEL(forward_dynamics)(&now->W, now->q, now->v, now->u, now->t, now->tau, &found);
        d->rank = found.rank;
        memcpy(d->a, found.a, NV * sizeof(double));
#if NC
        memcpy(d->multipliers, found.multipliers, NC * sizeof(double));
#endif
        MODEL(coordinate_rate)(&now->W, now->q, now->v, now->u, now->t, d->rate);
        d->motion = true;
    }
    if (d->status == STATUS_ILL_POSED || d->status == STATUS_NOT_FINITE)
        return told(one, d->status, fmi3Discard, "forward dynamics");
    if ((d->status == STATUS_INCONSISTENT || d->status == STATUS_NOT_CLOSED) && now->mode == CONTINUOUS &&
        has_opened(one))
        return fmi3OK; /* rows that the integrator has opened; it is told at states on the constraints */
    return told(one, d->status, fmi3Warning, "forward dynamics");
#endif
}

/* Sensors, energies and the residual at the state. */
fmi3Status outputs(Instance *one)
{
    State *now = &one->now;
    Derived *d = &one->derived;
    if (d->outputs)
        return fmi3OK;
#if N_SENSORS
    {
        int status = MODEL(sensors)(&now->W, now->q, now->v, now->u, now->t, now->tau, d->others);
        if (status == STATUS_ILL_POSED || status == STATUS_NOT_FINITE)
            return told(one, status, fmi3Discard, "sensors");
    }
#endif
    MODEL(watched)(&now->W, now->q, now->v, now->t, d->others + N_SENSORS);
    d->outputs = true;
    return fmi3OK;
}

/* Bring the state to the constraints; an error where it is too far from them, which names the row. */
fmi3Status close_loops(Instance *one)
{
    State *now = &one->now;
    int row = 0;
    bool of_velocity = false;
    double gap = largest_gap(one, &row, &of_velocity);
    int i = 0;
    const char *wrong = wrong_parameters(one);
    if (wrong)
        return say(one, fmi3Error, "%s", wrong);
    for (i = 0; i < NQ + NV; i++)
        if (!isfinite(i < NQ ? now->q[i] : now->v[i - NQ]))
            return say(one, fmi3Error, "the state is not finite");
    if (!(gap <= OPEN))
        return say(
            one, fmi3Error, "%s constraint '%s' by %.3g, relative to the size of the mechanism: give a state on the "
            "constraints", of_velocity ? "the velocities violate" : "the configuration violates", ROWS[row], gap);
    if (!MODEL(project)(&now->W, now->q, now->v, now->t))
        return told(one, STATUS_PROJECTION_FAILED, fmi3Error, "projection");
    now->rest = largest_gap(one, &row, &of_velocity);
    now->tuned = false;
    changed(one);
    return fmi3OK;
}

/* Take so many steps of one length; a step without an answer leaves the state of the one before. */
fmi3Status advance(Instance *one, double size, double *last_time)
{
    State *now = &one->now;
    fmi3Status worst = fmi3OK;
    double count = fmax(1.0, ceil(size / now->step - 1e-9)), h = size / count, k = 0.0;
    if (count > MOST_STEPS)
        return say(one, fmi3Error, "fmi3DoStep: %g steps of %g s are too many", count, now->step);
    if (now->tuned && (worst = close_loops(one)) > fmi3Warning)
        return worst;
    for (k = 0.0; k < count; k += 1.0) {
        double q[NQ + 1], v[NV + 1], t = now->t;
        int status = 0;
        memcpy(q, now->q, sizeof q);
        memcpy(v, now->v, sizeof v);
        status = MODEL_STEP(now, h);
        if (status == STATUS_ILL_POSED || status == STATUS_NOT_FINITE || status == STATUS_PROJECTION_FAILED ||
            status == STATUS_NOT_CONVERGED || status == STATUS_UNSTABLE_STEP || status == STATUS_NOT_CLOSED) {
            memcpy(now->q, q, sizeof q); /* the last state that is good */
            memcpy(now->v, v, sizeof v);
            now->t = *last_time = t;
            return told(one, status, fmi3Discard, "a step");
        }
        if (status != 0)
            worst = told(one, status, fmi3Warning, "a step");
    }
    return worst;
}
#else
typedef int no_mechanism;
#endif
