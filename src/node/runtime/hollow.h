/*
 * runtime_hollow - a runtime that runs nothing: containers are entries in a table.
 *
 * For tests of scale, and to try devices without containers. Every image is there; containers
 * start at once and run until they are stopped (exit code 143, as of a process that SIGTERM
 * ended), unless annotations of the pod say otherwise:
 *
 *	devplane.dev/hollow-exit.CONTAINER = "CODE" or "CODE after DURATION" ends it by itself;
 *	devplane.dev/hollow-pull-error = "IMAGE TEXT" fails pulls of that image, and it is not
 *	there, while a sandbox of a pod with this annotation is.
 *
 * The first is also looked for among the container's own annotations, as
 * devplane.dev/hollow-exit: so whoever makes init containers lets them end. An annotation that
 * cannot be read ends the container at once with code 128 and says so in its message.
 *
 * State lives as long as the process; after a restart pods are started anew.
 */
#ifndef NODE_RUNTIME_HOLLOW_H
#define NODE_RUNTIME_HOLLOW_H

#include "node/runtime/runtime.h"

#define RUNTIME_HOLLOW_EXIT       "devplane.dev/hollow-exit"
#define RUNTIME_HOLLOW_PULL_ERROR "devplane.dev/hollow-pull-error"

struct loop;

/* Pods get addresses from 10.`net`.0.0/16, in order; `net` is taken modulo 256. */
struct runtime *runtime_hollow_new(struct loop *l, unsigned net);

/* The CPUs that a container would be bound to; until it is updated. Empty: any. */
struct str runtime_hollow_cpus(const struct runtime *r, struct str id);

#endif
