/*
 * runtime_hollow - a runtime that runs nothing: containers are entries in a table.
 *
 * For tests of scale, and to try devices without containers. Containers start at once and run until they are
 * stopped, unless annotations of the pod say otherwise: devplane.dev/hollow-exit.CONTAINER = "CODE" or
 * "CODE after DURATION" ends it by itself; devplane.dev/hollow-pull-error.CONTAINER = "TEXT" fails the pull.
 * State lives as long as the process; after a restart pods are started anew.
 */
#ifndef NODE_RUNTIME_HOLLOW_H
#define NODE_RUNTIME_HOLLOW_H

#include "node/runtime.h"

struct loop;

/* Pods get addresses from 10.`net`.0.0/16, in order. */
struct runtime *runtime_hollow_new(struct loop *l, unsigned net);

#endif
