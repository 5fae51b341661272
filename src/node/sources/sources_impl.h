/*
 * sources_impl - shared by the files of sources.
 */
#ifndef NODE_SOURCES_SOURCES_IMPL_H
#define NODE_SOURCES_SOURCES_IMPL_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"
#include "node/sources/sources.h"

/* One pod and the objects it needs. */
struct sources_pod {
	struct sources *owner;
	char *uid; /* the key */
	VEC(struct source *) uses; /* each once */
	struct list wants; /* struct source_want */
};

struct sources {
	struct sources_opts opts;
	struct informers *informers; /* our own, because informers are removed here */
	struct map sources; /* struct source by its key */
	struct map pods; /* struct sources_pod by uid */
	struct list tokens; /* struct token */
	struct list doomed; /* sources and informers to free when no handler runs */
	struct loop_task sweep;
};

/* Ends the pod's tokens; waiting callers get an error. */
void sources_tokens_drop(struct sources *s, struct str pod_uid);
void sources_tokens_free(struct sources *s);

#endif
