/* Model exchange: states (q, v), their derivatives, and projections at events where loops have opened. */
#include <math.h>
#include <string.h>

#include "instance.h"

EXPORTED fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, CONTINUOUS, "fmi3EnterEventMode");
    if (status == fmi3OK)
        one->now.mode = EVENTS;
    return status;
}

EXPORTED fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, EVENTS, "fmi3EnterContinuousTimeMode");
    if (status == fmi3OK)
        one->now.mode = CONTINUOUS;
    return status;
}

EXPORTED fmi3Status fmi3UpdateDiscreteStates(
    fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals_changed,
    fmi3Boolean *values_changed, fmi3Boolean *next_time_defined, fmi3Float64 *next_time)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, EVENTS, "fmi3UpdateDiscreteStates");
    *again = *terminate = *nominals_changed = *values_changed = *next_time_defined = false;
    *next_time = 0.0;
    if (status != fmi3OK || !(one->now.tuned || has_opened(one)))
        return status;
    *values_changed = true;
    return close_loops(one);
}

EXPORTED fmi3Status fmi3CompletedIntegratorStep(
    fmi3Instance instance, fmi3Boolean no_earlier_state, fmi3Boolean *enter_event_mode, fmi3Boolean *terminate)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, CONTINUOUS, "fmi3CompletedIntegratorStep");
    (void)no_earlier_state;
    *enter_event_mode = *terminate = false;
    if (status != fmi3OK)
        return status;
    one->said = 0;
    *enter_event_mode = has_opened(one);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, CONTINUOUS | EVENTS, "fmi3SetTime");
    if (status != fmi3OK)
        return status;
    if (!isfinite(time))
        return say(one, fmi3Error, "the time is not finite");
    one->now.t = time;
    changed(one);
    return fmi3OK;
}

/* Whether a function may be called in this mode, with n states. */
static fmi3Status counted(Instance *one, int modes, const char *function, size_t n)
{
    fmi3Status status = allowed(one, modes, function);
    if (status == fmi3OK && n != NQ + NV)
        return say(one, fmi3Error, "there are %d states, not %u", NQ + NV, (unsigned)n);
    return status;
}

EXPORTED fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 states[], size_t n)
{
    Instance *one = instance;
    fmi3Status status = counted(one, CONTINUOUS | EVENTS, "fmi3SetContinuousStates", n);
    size_t i = 0;
    if (status != fmi3OK)
        return status;
    for (i = 0; i < n; i++)
        if (!isfinite(states[i]))
            return say(one, fmi3Discard, "state %u is not finite", (unsigned)i);
    memcpy(one->now.q, states, NQ * sizeof(double));
    memcpy(one->now.v, states + NQ, NV * sizeof(double));
    changed(one);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 states[], size_t n)
{
    Instance *one = instance;
    fmi3Status status = counted(one, ~0, "fmi3GetContinuousStates", n);
    if (status != fmi3OK)
        return status;
    memcpy(states, one->now.q, NQ * sizeof(double));
    memcpy(states + NQ, one->now.v, NV * sizeof(double));
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 rates[], size_t n)
{
    Instance *one = instance;
    fmi3Status status = counted(one, ~0, "fmi3GetContinuousStateDerivatives", n);
    if (status != fmi3OK)
        return status;
    status = motion(one);
    if (status > fmi3Warning)
        return status;
    memcpy(rates, one->derived.rate, NQ * sizeof(double));
    memcpy(rates + NQ, one->derived.a, NV * sizeof(double));
    return status;
}

EXPORTED fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t n)
{
    size_t i = 0;
    for (i = 0; i < n; i++)
        nominals[i] = 1.0;
    return allowed(instance, ~0, "fmi3GetNominalsOfContinuousStates");
}

EXPORTED fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 indicators[], size_t n)
{
    (void)indicators, (void)n;
    return allowed(instance, ~0, "fmi3GetEventIndicators");
}

EXPORTED fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n)
{
    *n = 0;
    return allowed(instance, ~0, "fmi3GetNumberOfEventIndicators");
}

EXPORTED fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n)
{
    *n = NQ + NV;
    return allowed(instance, ~0, "fmi3GetNumberOfContinuousStates");
}

EXPORTED fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    return allowed(instance, ~0, "fmi3EvaluateDiscreteStates");
}
