/*
 * draft - a write that is decided on its connection's loop.
 *
 * With several I/O threads, a write of a compiled-in kind is decided, validated and encoded on the
 * loop of its connection, against committed objects. The state then only compares: if these
 * objects are still the ones that the write replaces and depends on, it runs the plugins that need
 * its own data, and gives the text to the store. It does not evaluate admission policies again that
 * have allowed the draft (policies/admit.h). If an object has changed, the write is drafted again.
 * After DRAFT_TRIES drafts, or if other writes of the object are pending, the state decides it.
 *
 * Plugins that read other objects (the service account and the classes of a pod, the limit ranges
 * of its namespace) run for a draft, too. The draft records what they read (engine/looks.h), and
 * the state compares that. A list can be read only if the state has needed it since it last
 * changed: so after each change of a class or a limit range, the state decides the first pod.
 *
 * A draft never rejects a write: what it finds wrong, the state decides, with the same steps.
 *
 * Not drafted are: requests on the state's own loop; custom kinds; dry runs; large bodies; and
 * writes to which a plugin applies that must run on the state's loop (DRAFT_NEVER in
 * plugins/table.c).
 */
#ifndef SERVER_VERBS_DRAFT_H
#define SERVER_VERBS_DRAFT_H

#include <stdbool.h>

struct job;
struct mutation;
struct state;

/*
 * Decides the write into m->decided. On the stream's loop, after the body was decoded. Returns
 * false if it is not to be drafted, or if the draft failed. In the second case m->draft is set, and
 * the write must be decoded again.
 */
bool draft_make(struct mutation *m);

/* The `run` of a job whose write was drafted. */
void draft_on_state(struct state *st, struct job *j);

/* When the job is back: whether the state wants another draft. */
bool draft_is_stale(const struct mutation *m);

#endif
