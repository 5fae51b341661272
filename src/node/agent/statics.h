/*
 * agent_statics - the static pods of an agent, and their mirror pods.
 *
 * Each pod of a manifest file has a worker, like a pod of the API. Namespace and name identify a
 * pod: if two files name the same pod, the first in byte order counts. When a file changes, its old
 * pod ends before the new one starts. A file that is no valid pod is reported, and what it held
 * before stays.
 * Threads: the loop's.
 */
#ifndef NODE_AGENT_STATICS_H
#define NODE_AGENT_STATICS_H

#include "node/pod/pod.h"

struct agent;
struct agent_statics;
struct worker;

/* `path` may be NULL: then there are no static pods, and left-over mirror pods are deleted. */
struct agent_statics *agent_statics_new(struct agent *a, const char *path, int64_t period_ms);
void agent_statics_free(struct agent_statics *s); /* NULL allowed */

/* Reads the files, and starts their pods. Call it before the API's pods are known. */
void agent_statics_start(struct agent_statics *s);

/* Whether all files are known, so that a pod of the runtime that is not among them is left over. */
bool agent_statics_known(const struct agent_statics *s);

/* The worker of the static pod of that name; or NULL. `s` may be NULL: the agent ends. */
struct worker *agent_statics_worker(const struct agent_statics *s, struct str ns, struct str name);

/* Takes a pod of the API if it is a mirror pod. Returns false if it is not. */
bool agent_statics_mirror(struct agent_statics *s, struct pod *pod);
/* A pod of the API is gone. Returns false if it was no mirror pod that is known. */
bool agent_statics_mirror_gone(struct agent_statics *s, struct str uid, struct str key);

/* The Node was created, changed or deleted; or the API's pods are known now. */
void agent_statics_follow(struct agent_statics *s);

/* A worker has ended and is about to be freed. It may be any pod's. `s` may be NULL. */
void agent_statics_over(struct agent_statics *s, const struct worker *w);

#endif
