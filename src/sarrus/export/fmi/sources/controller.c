/* A control law: its controls at samples, the points of communication. */
#include <math.h>
#include <string.h>

#include "instance.h"

#if WITH_LAW
static const int QUATERNIONS[] = {QUATERNION_STARTS};

/* Write q with its quaternions at length one; false where one has none. */
static bool unit_quaternions(const double *q, double *out)
{
    int k = 0, i = 0;
    memcpy(out, q, NQ * sizeof(double));
    for (k = 0; k < N_QUATERNIONS; k++) {
        double *p = out + QUATERNIONS[k], size = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
        if (!(size > 0.0))
            return false;
        for (i = 0; i < 4; i++)
            p[i] /= size;
    }
    return true;
}

/* Ask the law for controls, at a sample of this period or, where that is zero, as it is. */
static fmi3Status ask(Instance *one, double period)
{
    State *now = &one->now, kept = one->now;
    double q[NQ + 1], u[NU + 1];
    int status = 0;
    if (!unit_quaternions(now->q, q))
        return say(one, fmi3Discard, "a quaternion of q has length zero");
    memset(u, 0, sizeof u);
    status = period > 0.0 ? MODEL(law_sample)(&now->W, q, now->v, now->t, period, MEASURED_OR_NULL(now), u)
                          : MODEL(law)(&now->W, q, now->v, now->t, u);
    if (status == STATUS_ILL_POSED || status == STATUS_NOT_FINITE) {
        *now = kept;
        return told(one, status, fmi3Discard, "the law");
    }
    memcpy(now->u, u, NU * sizeof(double));
    return status == 0 ? fmi3OK : told(one, status, fmi3Warning, "the law");
}

/* The controls at the start, which are not a sample. */
fmi3Status close_loops(Instance *one)
{
    const char *wrong = wrong_parameters(one);
    fmi3Status status = fmi3OK;
    if (wrong)
        return say(one, fmi3Error, "%s", wrong);
    status = ask(one, 0.0);
    one->now.tuned = false;
    return status;
}

fmi3Status advance(Instance *one, double size, double *last_time)
{
    const char *wrong = wrong_parameters(one);
    (void)last_time;
    if (wrong)
        return say(one, fmi3Error, "%s", wrong);
    one->now.tuned = false;
    return ask(one, size);
}

fmi3Status motion(Instance *one)
{
    return say(one, fmi3Error, "a law has no accelerations");
}

fmi3Status outputs(Instance *one)
{
    return one->now.mode & (INSTANTIATED | INITIALIZING) ? ask(one, 0.0) : fmi3OK;
}

bool has_opened(Instance *one)
{
    (void)one;
    return false;
}
#else
typedef int no_controller;
#endif
