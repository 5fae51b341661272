/*
 * probes_impl - shared by the files of probes.
 */
#ifndef NODE_PROBES_PROBES_IMPL_H
#define NODE_PROBES_PROBES_IMPL_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "node/probes/probes.h"
#include "node/probes/run.h"

struct probes {
	struct probes_opts opts;
	struct map all; /* struct probe by its key */
	struct list hooks;
	struct tls *tls; /* accepts any certificate; NULL until needed */
	int64_t started_ms;
};

/* For https and gRPC with TLS; NULL if TLS is not available. */
struct tls *probes_tls(struct probes *p);

void probes_hooks_free(struct probes *p);

#endif
