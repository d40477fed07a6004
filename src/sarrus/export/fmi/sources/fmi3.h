/* The types and functions of FMI 3.0 that a unit needs, declared in our own words after the standard. */
#ifndef SARRUS_FMI3_H
#define SARRUS_FMI3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum {
    fmi3Independent,
    fmi3Constant,
    fmi3Fixed,
    fmi3Tunable,
    fmi3Discrete,
    fmi3Dependent
} fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(
    fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean *,
    fmi3Float64 *);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

/* What an importer may call: everything else stays inside, so that units do not meet in one process. */
#if defined _WIN32
#define EXPORTED __declspec(dllexport)
#elif defined __GNUC__
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

/* With FMI3_FUNCTION_PREFIX, such as `arm_`, the functions carry it: for units that are linked into one program. */
#ifdef FMI3_FUNCTION_PREFIX
#define FMI3_PASTED(prefix, name) prefix##name
#define FMI3_JOINED(prefix, name) FMI3_PASTED(prefix, name)
#define FMI3_NAMED(name) FMI3_JOINED(FMI3_FUNCTION_PREFIX, name)
#define fmi3ActivateModelPartition FMI3_NAMED(fmi3ActivateModelPartition)
#define fmi3CompletedIntegratorStep FMI3_NAMED(fmi3CompletedIntegratorStep)
#define fmi3DeserializeFMUState FMI3_NAMED(fmi3DeserializeFMUState)
#define fmi3DoStep FMI3_NAMED(fmi3DoStep)
#define fmi3EnterConfigurationMode FMI3_NAMED(fmi3EnterConfigurationMode)
#define fmi3EnterContinuousTimeMode FMI3_NAMED(fmi3EnterContinuousTimeMode)
#define fmi3EnterEventMode FMI3_NAMED(fmi3EnterEventMode)
#define fmi3EnterInitializationMode FMI3_NAMED(fmi3EnterInitializationMode)
#define fmi3EnterStepMode FMI3_NAMED(fmi3EnterStepMode)
#define fmi3EvaluateDiscreteStates FMI3_NAMED(fmi3EvaluateDiscreteStates)
#define fmi3ExitConfigurationMode FMI3_NAMED(fmi3ExitConfigurationMode)
#define fmi3ExitInitializationMode FMI3_NAMED(fmi3ExitInitializationMode)
#define fmi3FreeFMUState FMI3_NAMED(fmi3FreeFMUState)
#define fmi3FreeInstance FMI3_NAMED(fmi3FreeInstance)
#define fmi3GetAdjointDerivative FMI3_NAMED(fmi3GetAdjointDerivative)
#define fmi3GetBinary FMI3_NAMED(fmi3GetBinary)
#define fmi3GetBoolean FMI3_NAMED(fmi3GetBoolean)
#define fmi3GetClock FMI3_NAMED(fmi3GetClock)
#define fmi3GetContinuousStateDerivatives FMI3_NAMED(fmi3GetContinuousStateDerivatives)
#define fmi3GetContinuousStates FMI3_NAMED(fmi3GetContinuousStates)
#define fmi3GetDirectionalDerivative FMI3_NAMED(fmi3GetDirectionalDerivative)
#define fmi3GetEventIndicators FMI3_NAMED(fmi3GetEventIndicators)
#define fmi3GetFMUState FMI3_NAMED(fmi3GetFMUState)
#define fmi3GetFloat32 FMI3_NAMED(fmi3GetFloat32)
#define fmi3GetFloat64 FMI3_NAMED(fmi3GetFloat64)
#define fmi3GetInt16 FMI3_NAMED(fmi3GetInt16)
#define fmi3GetInt32 FMI3_NAMED(fmi3GetInt32)
#define fmi3GetInt64 FMI3_NAMED(fmi3GetInt64)
#define fmi3GetInt8 FMI3_NAMED(fmi3GetInt8)
#define fmi3GetIntervalDecimal FMI3_NAMED(fmi3GetIntervalDecimal)
#define fmi3GetIntervalFraction FMI3_NAMED(fmi3GetIntervalFraction)
#define fmi3GetNominalsOfContinuousStates FMI3_NAMED(fmi3GetNominalsOfContinuousStates)
#define fmi3GetNumberOfContinuousStates FMI3_NAMED(fmi3GetNumberOfContinuousStates)
#define fmi3GetNumberOfEventIndicators FMI3_NAMED(fmi3GetNumberOfEventIndicators)
#define fmi3GetNumberOfVariableDependencies FMI3_NAMED(fmi3GetNumberOfVariableDependencies)
#define fmi3GetOutputDerivatives FMI3_NAMED(fmi3GetOutputDerivatives)
#define fmi3GetShiftDecimal FMI3_NAMED(fmi3GetShiftDecimal)
#define fmi3GetShiftFraction FMI3_NAMED(fmi3GetShiftFraction)
#define fmi3GetString FMI3_NAMED(fmi3GetString)
#define fmi3GetUInt16 FMI3_NAMED(fmi3GetUInt16)
#define fmi3GetUInt32 FMI3_NAMED(fmi3GetUInt32)
#define fmi3GetUInt64 FMI3_NAMED(fmi3GetUInt64)
#define fmi3GetUInt8 FMI3_NAMED(fmi3GetUInt8)
#define fmi3GetVariableDependencies FMI3_NAMED(fmi3GetVariableDependencies)
#define fmi3GetVersion FMI3_NAMED(fmi3GetVersion)
#define fmi3InstantiateCoSimulation FMI3_NAMED(fmi3InstantiateCoSimulation)
#define fmi3InstantiateModelExchange FMI3_NAMED(fmi3InstantiateModelExchange)
#define fmi3InstantiateScheduledExecution FMI3_NAMED(fmi3InstantiateScheduledExecution)
#define fmi3Reset FMI3_NAMED(fmi3Reset)
#define fmi3SerializeFMUState FMI3_NAMED(fmi3SerializeFMUState)
#define fmi3SerializedFMUStateSize FMI3_NAMED(fmi3SerializedFMUStateSize)
#define fmi3SetBinary FMI3_NAMED(fmi3SetBinary)
#define fmi3SetBoolean FMI3_NAMED(fmi3SetBoolean)
#define fmi3SetClock FMI3_NAMED(fmi3SetClock)
#define fmi3SetContinuousStates FMI3_NAMED(fmi3SetContinuousStates)
#define fmi3SetDebugLogging FMI3_NAMED(fmi3SetDebugLogging)
#define fmi3SetFMUState FMI3_NAMED(fmi3SetFMUState)
#define fmi3SetFloat32 FMI3_NAMED(fmi3SetFloat32)
#define fmi3SetFloat64 FMI3_NAMED(fmi3SetFloat64)
#define fmi3SetInt16 FMI3_NAMED(fmi3SetInt16)
#define fmi3SetInt32 FMI3_NAMED(fmi3SetInt32)
#define fmi3SetInt64 FMI3_NAMED(fmi3SetInt64)
#define fmi3SetInt8 FMI3_NAMED(fmi3SetInt8)
#define fmi3SetIntervalDecimal FMI3_NAMED(fmi3SetIntervalDecimal)
#define fmi3SetIntervalFraction FMI3_NAMED(fmi3SetIntervalFraction)
#define fmi3SetShiftDecimal FMI3_NAMED(fmi3SetShiftDecimal)
#define fmi3SetShiftFraction FMI3_NAMED(fmi3SetShiftFraction)
#define fmi3SetString FMI3_NAMED(fmi3SetString)
#define fmi3SetTime FMI3_NAMED(fmi3SetTime)
#define fmi3SetUInt16 FMI3_NAMED(fmi3SetUInt16)
#define fmi3SetUInt32 FMI3_NAMED(fmi3SetUInt32)
#define fmi3SetUInt64 FMI3_NAMED(fmi3SetUInt64)
#define fmi3SetUInt8 FMI3_NAMED(fmi3SetUInt8)
#define fmi3Terminate FMI3_NAMED(fmi3Terminate)
#define fmi3UpdateDiscreteStates FMI3_NAMED(fmi3UpdateDiscreteStates)
#endif

#endif
