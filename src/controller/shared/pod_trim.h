/*
 * pod_trim - the members of pods that no controller reads.
 *
 * The copies of pods are most of the controller's memory. Controllers write pods only by patches,
 * so a copy need not be complete. A controller that needs one of these members takes it out of the
 * table.
 */
#ifndef CONTROLLER_SHARED_POD_TRIM_H
#define CONTROLLER_SHARED_POD_TRIM_H

#include "client/informer/cached.h"

extern const struct cached_trim pod_trim[];

#endif
