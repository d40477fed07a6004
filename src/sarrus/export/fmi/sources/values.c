/* Variables by their value references, which run through blocks of one kind. */
#include <math.h>

#include "instance.h"

static const char *const NAMES[] = {VARIABLE_NAMES}; /* of inputs, coordinates, velocities, parameters */

fmi3Status get_value(Instance *one, fmi3ValueReference reference, double *value)
{
    State *now = &one->now;
    fmi3Status status = fmi3OK;
    if (reference == TIME)
        *value = now->t;
    else if (INSIDE(U)) {
        status = WITH_LAW ? outputs(one) : fmi3OK;
        *value = now->u[PLACE(U)];
    }
#if WITH_LAW
    else if (INSIDE(MEASURED))
        *value = now->measured[PLACE(MEASURED)];
    else if (INSIDE(SETTINGS))
        *value = MODEL_SETTING(&now->W, PLACE(SETTINGS));
#endif
    else if (INSIDE(TAU))
        *value = now->tau[PLACE(TAU)];
    else if (INSIDE(Q))
        *value = now->q[PLACE(Q)];
    else if (INSIDE(V))
        *value = now->v[PLACE(V)];
#if NP
    else if (INSIDE(P))
        *value = now->W.parameters[PLACE(P)];
#endif
    else if (reference == STEP_SIZE)
        *value = now->step;
    else if (reference == CLOSURE_TOLERANCE)
        *value = now->tolerance;
    else if (INSIDE(OTHERS)) {
        status = outputs(one);
        if (status <= fmi3Warning)
            *value = one->derived.others[PLACE(OTHERS)];
    }
#if WITH_CONTACTS
    else if (INSIDE(PUSHES))
        *value = now->forces[PLACE(PUSHES)];
#else
    else if (INSIDE(DQ) || INSIDE(DV) || INSIDE(MULTIPLIERS)) {
        status = motion(one);
        if (status <= fmi3Warning)
            *value = INSIDE(DQ)   ? one->derived.rate[PLACE(DQ)]
                     : INSIDE(DV) ? one->derived.a[PLACE(DV)]
                                  : one->derived.multipliers[PLACE(MULTIPLIERS)];
    }
#endif
    else
        return say(one, fmi3Error, "there is no variable of value reference %u", (unsigned)reference);
    if (status <= fmi3Warning && !isfinite(*value))
        return say(one, fmi3Discard, "the variable of value reference %u is not finite", (unsigned)reference);
    return status;
}

fmi3Status set_value(Instance *one, fmi3ValueReference reference, double value)
{
    State *now = &one->now;
    int mode = now->mode;
    bool early = mode & (INSTANTIATED | INITIALIZING);
    if (reference < N_NAMES && !isfinite(value))
        return say(one, fmi3Error, "%s is set to a value that is not finite", NAMES[reference]);
#if WITH_LAW
    if (INSIDE(Q))
        now->q[PLACE(Q)] = value;
    else if (INSIDE(V))
        now->v[PLACE(V)] = value;
    else if (INSIDE(MEASURED))
        now->measured[PLACE(MEASURED)] = value;
    else if (INSIDE(SETTINGS))
        MODEL_SETTING(&now->W, PLACE(SETTINGS)) = value;
    else
#else
    if (INSIDE(U))
        now->u[PLACE(U)] = value;
    else
#endif
        if (INSIDE(TAU))
        now->tau[PLACE(TAU)] = value;
#if NP
    else if (INSIDE(P)) {
        if (!early && !(mode & (EVENTS | STEPS)))
            return say(one, fmi3Error, "%s may be set before the start and at events or steps", NAMES[reference]);
        now->W.parameters[PLACE(P)] = value;
        now->tuned = true;
    }
#endif
    else if (INSIDE(Q) || INSIDE(V)) {
        if (!early)
            return say(one, fmi3Error, "%s is a start value: set it before the start", NAMES[reference]);
        if (INSIDE(Q))
            now->q[PLACE(Q)] = value;
        else
            now->v[PLACE(V)] = value;
    } else if (reference == STEP_SIZE || reference == CLOSURE_TOLERANCE) {
        if (!early)
            return say(one, fmi3Error, "%s is fixed: set it before the start", NAMES[reference]);
        if (!(value > 0.0))
            return say(one, fmi3Error, "%s must be positive", NAMES[reference]);
        *(reference == STEP_SIZE ? &now->step : &now->tolerance) = value;
    } else
        return say(one, fmi3Error, "the variable of value reference %u cannot be set", (unsigned)reference);
    changed(one);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetFloat64(
    fmi3Instance instance, const fmi3ValueReference references[], size_t n, fmi3Float64 values[], size_t n_values)
{
    Instance *one = instance;
    fmi3Status worst = allowed(one, ~0, "fmi3GetFloat64");
    size_t i = 0;
    if (worst == fmi3OK && n != n_values)
        return say(one, fmi3Error, "fmi3GetFloat64: as many values as references, all are scalars");
    for (i = 0; i < n && worst <= fmi3Warning; i++) {
        fmi3Status status = get_value(one, references[i], values + i);
        worst = status > worst ? status : worst;
    }
    return worst;
}

EXPORTED fmi3Status fmi3SetFloat64(
    fmi3Instance instance, const fmi3ValueReference references[], size_t n, const fmi3Float64 values[],
    size_t n_values)
{
    Instance *one = instance;
    fmi3Status worst = allowed(one, ~TERMINATED, "fmi3SetFloat64");
    size_t i = 0;
    if (worst == fmi3OK && n != n_values)
        return say(one, fmi3Error, "fmi3SetFloat64: as many values as references, all are scalars");
    for (i = 0; i < n && worst <= fmi3Warning; i++)
        worst = set_value(one, references[i], values[i]);
    return worst;
}
