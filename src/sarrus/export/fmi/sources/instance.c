/* An instance at its start, and what is told of it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "instance.h"

static const struct {
    int code;
    const char *name, *text;
} STATUSES[] = {STATUS_TEXTS};

static const double START_Q[] = {START_OF_Q}, START_V[] = {START_OF_V};

void reset(Instance *one)
{
    State *now = &one->now;
    memset(now, 0, sizeof *now);
    MODEL(init)(&now->W);
    memcpy(now->q, START_Q, NQ * sizeof(double));
    memcpy(now->v, START_V, NV * sizeof(double));
    now->step = START_OF_STEP;
    now->tolerance = START_OF_TOLERANCE;
    now->mode = INSTANTIATED;
    one->said = 0;
    changed(one);
}

void changed(Instance *one)
{
    one->derived.motion = one->derived.outputs = one->derived.slopes = false;
}

fmi3Status say(Instance *one, fmi3Status status, const char *format, ...)
{
    static const char *const categories[] = {
        "logEvents", "logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal"};
    char text[600];
    int start = snprintf(text, sizeof text, "%s: ", UNIT_NAME);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + start, sizeof text - (size_t)start, format, arguments);
    va_end(arguments);
    if (one && one->log)
        one->log(one->environment, status, categories[status], text);
    return status;
}

/* Tell what a status of the model means, once until the next step; the answer is at most ``worst``. */
fmi3Status told(Instance *one, int status, fmi3Status worst, const char *what)
{
    const size_t count = sizeof STATUSES / sizeof *STATUSES;
    size_t k = 0;
    if (status == 0 || worst == fmi3OK)
        return fmi3OK;
    while (k < count && STATUSES[k].code != status)
        k++;
    if (k == count)
        return say(one, fmi3Error, "%s at t = %.9g: status %d", what, one->now.t, status);
    if (worst == fmi3Warning && one->said & 1 << k)
        return worst;
    one->said |= 1 << k;
    return say(one, worst, "%s at t = %.9g: %s: %s", what, one->now.t, STATUSES[k].name, STATUSES[k].text);
}

fmi3Status allowed(Instance *one, int modes, const char *function)
{
    if (!one)
        return fmi3Error;
    if (!(one->now.mode & modes))
        return say(one, fmi3Error, "%s: not allowed in this mode", function);
    return fmi3OK;
}

/* Return what is wrong with the parameters, nothing where they are as they must be. */
const char *wrong_parameters(Instance *one)
{
#if NP
    const double *p = one->now.W.parameters;
    (void)p;
#endif
    (void)one;
#define BOUND(good, text) \
    if (!(good))          \
        return text;
    PARAMETER_BOUNDS
#undef BOUND
    return NULL;
}
