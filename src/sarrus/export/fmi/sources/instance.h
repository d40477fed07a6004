/* An instance of the unit: a state of plain memory, what follows from it, and whom to tell. */
#ifndef SARRUS_INSTANCE_H
#define SARRUS_INSTANCE_H

#include "fmi3.h"
#include "unit.h"

/* Names with external linkage carry the unit's: without it the C library's would stand in for them (`advance` of glibc),
   or those of another unit in the same program. */
#define reset MODEL(unit_reset)
#define changed MODEL(unit_changed)
#define say MODEL(unit_say)
#define told MODEL(unit_told)
#define allowed MODEL(unit_allowed)
#define wrong_parameters MODEL(unit_wrong_parameters)
#define motion MODEL(unit_motion)
#define outputs MODEL(unit_outputs)
#define has_opened MODEL(unit_has_opened)
#define close_loops MODEL(unit_close_loops)
#define advance MODEL(unit_advance)
#define get_value MODEL(unit_get_value)
#define set_value MODEL(unit_set_value)

enum { INSTANTIATED = 1, INITIALIZING = 2, EVENTS = 4, CONTINUOUS = 8, STEPS = 16, TERMINATED = 32 };

/* All that makes the future: copied for an FMU state. */
typedef struct {
    double t, step, tolerance;
    double rest; /* violation that the last projection has left, of rows that contradict each other by printed digits */
    double q[NQ + 1], v[NV + 1], u[NU + 1], tau[NV + 1];
    double measured[N_MEASURED + 1];
    double forces[N_PUSHES + 1]; /* of contacts, means over the last step */
    int mode;
    bool tuned; /* parameters have changed since the loops were closed */
    workspace W;
} State;

/* What follows from the state, computed when it is asked for. */
typedef struct {
    bool motion, outputs, slopes; /* are known */
    int status;                   /* of forward dynamics */
    int rank;
    double a[NV + 1], multipliers[NC + 1], rate[NQ + 1];
    double others[N_SENSORS + 3]; /* sensors, residual, energies */
} Derived;

#if WITH_SLOPES
typedef struct {
    double values[N_SLOPES + 1];
    double matrix[(NV + NC) * (NV + NC) + 1]; /* [M, -A'; A, 0], factored */
    int rows[NV + NC + 1], columns[NV + NC + 1], size; /* permutations, pivots */
} Slopes;
#endif

typedef struct {
    State now;
    Derived derived;
#if WITH_SLOPES
    Slopes slopes;
#endif
    bool co_simulation;
    int said; /* statuses that were told since the last step, as bits */
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Instance;

/* Whether and where in a block of variables a value reference is. */
#define INSIDE(block) (reference >= FIRST_##block && reference < FIRST_##block + N_##block)
#define PLACE(block) ((int)(reference - FIRST_##block))

/* instance.c */
void reset(Instance *one);
void changed(Instance *one);
fmi3Status say(Instance *one, fmi3Status status, const char *format, ...);
fmi3Status told(Instance *one, int status, fmi3Status worst, const char *what);
fmi3Status allowed(Instance *one, int modes, const char *function);
const char *wrong_parameters(Instance *one);

/* mechanism.c, or controller.c of a law */
fmi3Status motion(Instance *one);
fmi3Status outputs(Instance *one);
bool has_opened(Instance *one);
fmi3Status close_loops(Instance *one);
fmi3Status advance(Instance *one, double size, double *last_time);

/* values.c */
fmi3Status get_value(Instance *one, fmi3ValueReference reference, double *value);
fmi3Status set_value(Instance *one, fmi3ValueReference reference, double value);

#endif
