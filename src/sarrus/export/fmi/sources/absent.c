/* Functions of FMI 3.0 for what the unit does not have: other types, clocks, structural parameters, partitions. */
#include "instance.h"

static fmi3Status absent(fmi3Instance instance, const char *function, size_t n)
{
    return n == 0 ? fmi3OK : say(instance, fmi3Error, "%s: the unit has nothing of this kind", function);
}

#define NO_VALUES(type)                                                                             \
    EXPORTED fmi3Status fmi3Get##type(                                                              \
        fmi3Instance instance, const fmi3ValueReference references[], size_t n, fmi3##type values[], \
        size_t n_values)                                                                            \
    {                                                                                               \
        (void)references, (void)values, (void)n_values;                                             \
        return absent(instance, "fmi3Get" #type, n);                                                \
    }                                                                                               \
    EXPORTED fmi3Status fmi3Set##type(                                                              \
        fmi3Instance instance, const fmi3ValueReference references[], size_t n,                     \
        const fmi3##type values[], size_t n_values)                                                 \
    {                                                                                               \
        (void)references, (void)values, (void)n_values;                                             \
        return absent(instance, "fmi3Set" #type, n);                                                \
    }

NO_VALUES(Float32)
NO_VALUES(Int8)
NO_VALUES(UInt8)
NO_VALUES(Int16)
NO_VALUES(UInt16)
NO_VALUES(Int32)
NO_VALUES(UInt32)
NO_VALUES(Int64)
NO_VALUES(UInt64)
NO_VALUES(Boolean)
NO_VALUES(String)

#define NOTHING(name, ...)                        \
    EXPORTED fmi3Status name(__VA_ARGS__)         \
    {                                             \
        return absent(instance, #name, 1);        \
    }

#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

typedef const fmi3ValueReference *References;

NOTHING(fmi3GetBinary, fmi3Instance instance, References r, size_t n, size_t sizes[], fmi3Binary values[], size_t m)
NOTHING(
    fmi3SetBinary, fmi3Instance instance, References r, size_t n, const size_t sizes[], const fmi3Binary values[],
    size_t m)
NOTHING(fmi3GetClock, fmi3Instance instance, References r, size_t n, fmi3Clock values[])
NOTHING(fmi3SetClock, fmi3Instance instance, References r, size_t n, const fmi3Clock values[])
NOTHING(fmi3GetNumberOfVariableDependencies, fmi3Instance instance, fmi3ValueReference r, size_t *n)
NOTHING(
    fmi3GetVariableDependencies, fmi3Instance instance, fmi3ValueReference r, size_t elements[],
    fmi3ValueReference independents[], size_t of_independents[], fmi3DependencyKind kinds[], size_t n)
NOTHING(
    fmi3GetAdjointDerivative, fmi3Instance instance, References unknowns, size_t n, References knowns, size_t m,
    const fmi3Float64 seed[], size_t n_seed, fmi3Float64 sensitivity[], size_t n_sensitivity)
NOTHING(fmi3EnterConfigurationMode, fmi3Instance instance)
NOTHING(fmi3ExitConfigurationMode, fmi3Instance instance)
NOTHING(
    fmi3GetIntervalDecimal, fmi3Instance instance, References r, size_t n, fmi3Float64 intervals[],
    fmi3IntervalQualifier qualifiers[])
NOTHING(
    fmi3GetIntervalFraction, fmi3Instance instance, References r, size_t n, fmi3UInt64 counters[],
    fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
NOTHING(fmi3GetShiftDecimal, fmi3Instance instance, References r, size_t n, fmi3Float64 shifts[])
NOTHING(
    fmi3GetShiftFraction, fmi3Instance instance, References r, size_t n, fmi3UInt64 counters[],
    fmi3UInt64 resolutions[])
NOTHING(fmi3SetIntervalDecimal, fmi3Instance instance, References r, size_t n, const fmi3Float64 intervals[])
NOTHING(
    fmi3SetIntervalFraction, fmi3Instance instance, References r, size_t n, const fmi3UInt64 counters[],
    const fmi3UInt64 resolutions[])
NOTHING(fmi3SetShiftDecimal, fmi3Instance instance, References r, size_t n, const fmi3Float64 shifts[])
NOTHING(
    fmi3SetShiftFraction, fmi3Instance instance, References r, size_t n, const fmi3UInt64 counters[],
    const fmi3UInt64 resolutions[])
NOTHING(
    fmi3GetOutputDerivatives, fmi3Instance instance, References r, size_t n, const fmi3Int32 orders[],
    fmi3Float64 values[], size_t m)
NOTHING(fmi3ActivateModelPartition, fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 time)

EXPORTED fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    if (log)
        log(environment, fmi3Error, "logStatusError", UNIT_NAME ": there is no scheduled execution");
    return NULL;
}
