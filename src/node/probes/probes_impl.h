/*
 * probes_impl - what the files of probes share.
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
	struct tls *tls; /* that trusts anybody; NULL until it is needed */
	int64_t started_ms;
};

/* For https and gRPC with TLS; NULL when TLS cannot be had. */
struct tls *probes_tls(struct probes *p);

void probes_hooks_free(struct probes *p);

#endif
