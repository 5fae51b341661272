/*
 * agents - the node agents of one process: one, or several hollow ones.
 *
 * They share a client, the thread that saves their state, and the lookup of what the server knows
 * (status/pod_level.h).
 * Threads: the loop's.
 */
#ifndef NODE_AGENT_AGENTS_H
#define NODE_AGENT_AGENTS_H

#include "node/agent/agent.h"

struct agents;

/*
 * For `n` agents. If there are several, they are named NAME-0 and so on, and each has a folder of
 * its own in root_dir. `saver` is set here. Text is borrowed for the agents' life.
 */
int agents_new(const struct agent_opts *opts, size_t n, struct agents **ret_agents,
	       struct error *err);

/* Call agents_stop() even if it fails. */
int agents_start(struct agents *g, struct error *err);

/* As agent_stop() for each of them. `done` is called once. Then free it. */
void agents_stop(struct agents *g, void (*done)(void *arg), void *arg);
void agents_free(struct agents *g); /* NULL allowed */

/* Address of the first agent's API; NULL: not served. */
const struct addr *agents_api_addr(const struct agents *g);

/* For /healthz and /readyz: the first error of an agent. */
int agents_check(const struct agents *g, struct error *err);
int agents_check_ready(const struct agents *g, struct error *err);

#endif
