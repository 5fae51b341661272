/*
 * doctor_gates - feature gates in the text of a program's /metrics. Pure.
 *
 *	kubernetes_feature_enabled{name="ResourceHealthStatus",stage="BETA"} 1
 */
#ifndef CLI_DOCTOR_GATES_H
#define CLI_DOCTOR_GATES_H

#include "base/core/str.h"

/* Whether the text has gates: those of some programs have none. */
bool doctor_gates_are_in(struct str metrics);

/* False if the gate has no line, because upstream removes gates that are always on. */
bool doctor_gate_is_off(struct str metrics, const char *gate);

#endif
