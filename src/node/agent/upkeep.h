/*
 * agent_upkeep - keeps the machine usable: removes unused images, and evicts pods when memory or
 * disk runs out.
 *
 * Images are looked at every five minutes, and pressure every ten seconds, as with kubelet. If the
 * disk is short, all unused images are removed first; only if that does not help, one pod is
 * evicted per look. While an evicted pod still ends, no other is evicted, for half a minute at
 * most. The rules are in images/image_book.h and eviction/eviction.h.
 *
 * A hollow node has no images, and only looks at memory, if it was given a folder for /proc.
 * Threads: the loop's.
 */
#ifndef NODE_AGENT_UPKEEP_H
#define NODE_AGENT_UPKEEP_H

#include "node/agent/agent.h"
#include "node/pod/pod.h"

struct agent_upkeep;

struct agent_upkeep *agent_upkeep_new(struct agent *a);
void agent_upkeep_free(struct agent_upkeep *u); /* NULL allowed */

/*
 * Whether a new pod may start under the present pressure. If not, `ret_message` has kubelet's
 * message; the reason is "Evicted".
 */
bool agent_upkeep_admits(const struct agent_upkeep *u, const struct pod *pod,
			 char ret_message[static 128]);

#endif
