/* Instances from the first to the last call, and their states as plain memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"

EXPORTED const char *fmi3GetVersion(void)
{
    return "3.0";
}

static Instance *begin(
    fmi3String token, bool co_simulation, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    Instance *one = calloc(1, sizeof *one);
    if (!one) {
        if (log)
            log(environment, fmi3Error, "logStatusError", UNIT_NAME ": no memory for an instance");
        return NULL;
    }
    one->environment = environment;
    one->log = log;
    one->co_simulation = co_simulation;
    if (!token || strcmp(token, UNIT_TOKEN) != 0) {
        say(one, fmi3Error, "the instantiation token is not that of the sources: the description is of another unit");
        free(one);
        return NULL;
    }
    reset(one);
    return one;
}

EXPORTED fmi3Instance fmi3InstantiateModelExchange(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name, (void)resources, (void)visible, (void)logging;
#if WITH_CONTACTS || WITH_LAW
    (void)token;
    if (log)
        log(environment, fmi3Error, "logStatusError", UNIT_NAME ": this unit is for co-simulation alone");
    return NULL;
#else
    return begin(token, false, environment, log);
#endif
}

EXPORTED fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean events, fmi3Boolean early_return, const fmi3ValueReference intermediate[], size_t n_intermediate,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)early_return, (void)intermediate;
    (void)n_intermediate, (void)update;
    if (events) {
        if (log)
            log(environment, fmi3Error, "logStatusError", UNIT_NAME ": there is no event mode in co-simulation");
        return NULL;
    }
    return begin(token, true, environment, log);
}

EXPORTED void fmi3FreeInstance(fmi3Instance instance)
{
    free(instance);
}

EXPORTED fmi3Status fmi3SetDebugLogging(
    fmi3Instance instance, fmi3Boolean on, size_t n_categories, const fmi3String categories[])
{
    (void)on, (void)n_categories, (void)categories;
    return allowed(instance, ~0, "fmi3SetDebugLogging");
}

EXPORTED fmi3Status fmi3EnterInitializationMode(
    fmi3Instance instance, fmi3Boolean tolerance_defined, fmi3Float64 tolerance, fmi3Float64 start,
    fmi3Boolean stop_defined, fmi3Float64 stop)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, INSTANTIATED, "fmi3EnterInitializationMode");
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    if (status != fmi3OK)
        return status;
    if (!isfinite(start))
        return say(one, fmi3Error, "the start time is not finite");
    one->now.t = start;
    one->now.mode = INITIALIZING;
    changed(one);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, INITIALIZING, "fmi3ExitInitializationMode");
    if (status == fmi3OK)
        status = close_loops(one);
    if (status <= fmi3Warning)
        one->now.mode = one->co_simulation ? STEPS : EVENTS;
    return status;
}

EXPORTED fmi3Status fmi3Terminate(fmi3Instance instance)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, EVENTS | CONTINUOUS | STEPS, "fmi3Terminate");
    if (status == fmi3OK)
        one->now.mode = TERMINATED;
    return status;
}

EXPORTED fmi3Status fmi3Reset(fmi3Instance instance)
{
    fmi3Status status = allowed(instance, ~0, "fmi3Reset");
    if (status == fmi3OK)
        reset(instance);
    return status;
}

/* --- states ------------------------------------------------------------------------------------------- */

EXPORTED fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, ~0, "fmi3GetFMUState");
    if (status != fmi3OK)
        return status;
    if (!*state && !(*state = malloc(sizeof(State))))
        return say(one, fmi3Error, "no memory for a state");
    memcpy(*state, &one->now, sizeof(State));
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, ~0, "fmi3SetFMUState");
    if (status != fmi3OK)
        return status;
    if (!state)
        return say(one, fmi3Error, "fmi3SetFMUState: no state");
    memcpy(&one->now, state, sizeof(State));
    changed(one);
    return fmi3OK;
}

EXPORTED fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    (void)instance;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    (void)state;
    *size = sizeof(State) + sizeof UNIT_TOKEN;
    return allowed(instance, ~0, "fmi3SerializedFMUStateSize");
}

EXPORTED fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (!state || size < sizeof(State) + sizeof UNIT_TOKEN)
        return say(instance, fmi3Error, "fmi3SerializeFMUState: no state, or too few bytes");
    memcpy(bytes, UNIT_TOKEN, sizeof UNIT_TOKEN);
    memcpy(bytes + sizeof UNIT_TOKEN, state, sizeof(State));
    return fmi3OK;
}

EXPORTED fmi3Status fmi3DeserializeFMUState(
    fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    if (size < sizeof(State) + sizeof UNIT_TOKEN || memcmp(bytes, UNIT_TOKEN, sizeof UNIT_TOKEN) != 0)
        return say(instance, fmi3Error, "fmi3DeserializeFMUState: these bytes are no state of this unit");
    if (!*state && !(*state = malloc(sizeof(State))))
        return say(instance, fmi3Error, "no memory for a state");
    memcpy(*state, bytes + sizeof UNIT_TOKEN, sizeof(State));
    return fmi3OK;
}
