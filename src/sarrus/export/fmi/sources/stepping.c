/* Co-simulation: communication steps. */
#include <math.h>

#include "instance.h"

EXPORTED fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    return say(instance, fmi3Error, "fmi3EnterStepMode: there is no event mode in co-simulation");
}

EXPORTED fmi3Status fmi3DoStep(
    fmi3Instance instance, fmi3Float64 current, fmi3Float64 size, fmi3Boolean no_earlier_state,
    fmi3Boolean *event_needed, fmi3Boolean *terminate, fmi3Boolean *early_return, fmi3Float64 *last_time)
{
    Instance *one = instance;
    fmi3Status status = allowed(one, STEPS, "fmi3DoStep");
    (void)no_earlier_state;
    *event_needed = *terminate = *early_return = false;
    if (status != fmi3OK)
        return status;
    *last_time = one->now.t;
    if (!(fabs(current - *last_time) <= 1e-9 * (fabs(current) + one->now.step)))
        return say(one, fmi3Error, "fmi3DoStep: the time is %.17g, the step is from %.17g", *last_time, current);
    if (!(size > 0.0) || !isfinite(size))
        return say(one, fmi3Error, "fmi3DoStep: the communication step must be positive, it is %g", size);
    one->said = 0;
    changed(one);
    status = advance(one, size, last_time);
    if (status <= fmi3Warning)
        *last_time = one->now.t = current + size;
    return status;
}
