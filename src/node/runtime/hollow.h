/*
 * runtime_hollow - a runtime that runs nothing: containers are entries in a table.
 *
 * For tests of scale, and to try devices without containers. Every image is present. Containers
 * start at once and run until they are stopped (exit code 143, like a process ended by SIGTERM),
 * unless annotations of the pod change that:
 *
 *	devplane.dev/hollow-exit.CONTAINER = "CODE" or "CODE after DURATION": the container exits;
 *	devplane.dev/hollow-pull-error = "IMAGE TEXT": the image is missing and pulls of it fail,
 *	while a sandbox of a pod with this annotation exists.
 *
 * The first is also read from the container's own annotations, as devplane.dev/hollow-exit, so that
 * the creator of init containers can let them end. An invalid annotation ends the container at once
 * with code 128 and an explanation in its message.
 *
 * State lives as long as the process; after a restart pods are started again.
 */
#ifndef NODE_RUNTIME_HOLLOW_H
#define NODE_RUNTIME_HOLLOW_H

#include "node/runtime/runtime.h"

#define RUNTIME_HOLLOW_EXIT       "devplane.dev/hollow-exit"
#define RUNTIME_HOLLOW_PULL_ERROR "devplane.dev/hollow-pull-error"

struct loop;

/* Pods get addresses from 10.`net`.0.0/16, in order; `net` is taken modulo 256. */
struct runtime *runtime_hollow_new(struct loop *l, unsigned net);

/* The CPUs that a container would be bound to, as last updated. Empty: any. */
struct str runtime_hollow_cpus(const struct runtime *r, struct str id);

#endif
