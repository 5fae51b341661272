/*
 * up_health - polls the health of all roles at once.
 */
#ifndef CLI_UP_HEALTH_H
#define CLI_UP_HEALTH_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "cli/up/state.h"

/* One request, and its result. */
struct up_health {
	const char *url; /* "http://127.0.0.1:33921"; NULL: use the kubeconfig */
	const char *kubeconfig;
	bool foreign; /* ask "/healthz", and trust any certificate */

	bool ok;
	char text[256]; /* what is wrong; or "ok" */
};

/* What to ask for a role; it must have an endpoint, or be the server. Text is in the arena. */
struct up_health up_health_of(struct arena *a, const struct up_layout *l,
			      const struct up_state_role *role);

/* Requests /readyz of each, or /healthz if it is foreign; waits at most `timeout_ms` in all. */
int up_health_ask(struct up_health *v, size_t n, int64_t timeout_ms, struct error *err);

/* Resident memory of a process in bytes; 0 if it does not exist. */
int64_t up_health_memory(int64_t pid);

#endif
