/*
 * health - /healthz, /livez and /readyz: named checks, with verbose and exclude.
 */
#ifndef SERVER_GATE_HEALTH_H
#define SERVER_GATE_HEALTH_H

#include "base/core/str.h"

struct exchange;

/* Whether the path is one of these or below one, such as "/readyz/ping". */
bool health_is_path(struct str path);

/* Runs the checks that the path names and replies "ok", or 500 with the failed checks. */
void health_handle(struct exchange *x);

#endif
