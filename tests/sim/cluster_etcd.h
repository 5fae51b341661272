/*
 * cluster_etcd - the etcd of a simulated cluster: three members, each a role on a host of its own.
 *
 * The data is one log (store/etcd/log.h), the consensus a model: a member proposes, the leader
 * commits after a while, and every member applies with a lag of its own. A leader that is down,
 * paused or cut off from its peers is replaced after a moment without one; proposals under way
 * are then committed late, or lost. A member answers a write when it has applied it, and a read
 * when it has applied all that was committed when it was asked. Watches follow what their member
 * has applied. Errors are in etcd's words.
 */
#ifndef SIM_CLUSTER_ETCD_H
#define SIM_CLUSTER_ETCD_H

#include "cluster_role.h"

struct cluster_etcd;
struct etcd_log;

enum { CLUSTER_ETCD_MEMBERS = 3, CLUSTER_ETCD_PORT = 2379 };

/* role->arg is a struct cluster_etcd_member. */
extern const struct cluster_role_ops cluster_etcd_ops;

struct cluster_etcd *cluster_etcd_new(struct sim *sim, uint64_t seed);
/* The roles must have been released. */
void cluster_etcd_free(struct cluster_etcd *e);

/* The `arg` of the i-th member's role. */
void *cluster_etcd_member(struct cluster_etcd *e, unsigned i);

/* All that was ever committed. */
const struct etcd_log *cluster_etcd_log(const struct cluster_etcd *e);
/* Leaders elected so far, and transactions whose answer was lost or late. */
unsigned cluster_etcd_terms(const struct cluster_etcd *e);
unsigned cluster_etcd_doubts(const struct cluster_etcd *e);

/* True if no unacknowledged write can still arrive. */
bool cluster_etcd_settled(const struct cluster_etcd *e);

/* --- faults: until they are undone, or until cluster_etcd_calm() ----------------------------- */

/* The member's peers do not reach it; its clients may. */
void cluster_etcd_isolate(struct cluster_etcd *e, unsigned member);
void cluster_etcd_rejoin(struct cluster_etcd *e);

/* The leader loses its office: another one, or the same, is elected in a moment. */
void cluster_etcd_depose(struct cluster_etcd *e);

/* Forgets all history, as an operator does it, however far watches have come. */
void cluster_etcd_compact(struct cluster_etcd *e);

/* Chance of a write to be answered with a time-out, though it is committed now or later. */
void cluster_etcd_lose_answers(struct cluster_etcd *e, double chance);
/* The member applies what is committed so much later. */
void cluster_etcd_delay(struct cluster_etcd *e, unsigned member, int64_t ms);
/* The member's watches send nothing for so long. */
void cluster_etcd_hold_events(struct cluster_etcd *e, unsigned member, int64_t ms);
/* The quota of space is used up: writes are refused. */
void cluster_etcd_fill(struct cluster_etcd *e, bool full);

void cluster_etcd_calm(struct cluster_etcd *e);

#endif
