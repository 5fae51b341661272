/*
 * cluster_etcd_impl - what the consensus and the members of a simulated etcd share.
 */
#ifndef SIM_CLUSTER_ETCD_IMPL_H
#define SIM_CLUSTER_ETCD_IMPL_H

#include "base/core/list.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "cluster_etcd.h"
#include "grpc/grpc.h"
#include "store/etcd/log.h"

/* etcd's own times: of an election, and for a request. */
enum { ETCD_ELECTION_MS = 1000, ETCD_REQUEST_MS = 7000, ETCD_TICK_MS = 100 };

struct etcd_ask;

/* A write that is not committed. */
struct etcd_proposal {
	struct list link;
	struct cluster_etcd_member *from;
	struct etcd_ask *ask; /* NULL: nobody waits for the answer any more */
	Etcd__TxnRequest *txn; /* NULL: a compaction */
	int64_t compact;
	bool forwarded; /* the leader has it */
	int64_t due_ms; /* committed then, if there is a leader */
};

/* A committed one: where the log was after it, and when. */
struct etcd_entry {
	size_t changes;
	int64_t revision, compacted, at_ms;
};

enum etcd_ask_kind { ETCD_ASK_READ, ETCD_ASK_WRITE };

/* A request that a member has not answered. */
struct etcd_ask {
	struct list link;
	enum etcd_ask_kind kind;
	struct grpc_call *call; /* a reference */
	const void *request; /* lives as long as the call */
	struct etcd_proposal *proposal; /* of a write that is not committed */
	size_t index; /* answered when so many entries are applied; 0: not known yet */
	int64_t until_ms; /* answered with a time-out then */
	bool lost; /* committed, and the answer is a time-out */
	struct str failure; /* answered so at once; empty: not */
	enum grpc_code code; /* of a write's answer; with `failure` when not OK */
	const ProtobufCMessage *reply; /* in the arena */
	struct arena arena;
};

struct etcd_watch {
	struct list link;
	struct grpc_call *call;
	size_t at; /* index in the log of the change that comes next */
	bool fragments;
};

struct cluster_etcd_member {
	struct cluster_etcd *etcd;
	struct cluster_role *role; /* NULL: down */
	struct http_server *http;
	struct grpc_server *grpc;
	struct loop_timer timer;
	struct loop_msg news;
	bool has_news;
	struct list asks, watches;
	size_t applied; /* entries */
	int64_t tick_ms; /* its last turn: silent for longer than an election is out */
	int64_t alone_ms; /* since when it has no leader; 0: it has one */
	/* Faults. */
	bool isolated;
	int64_t lag_ms, hold_ms; /* hold_ms: until then */
};

struct cluster_etcd {
	struct sim *sim;
	struct prng prng;
	struct etcd_log log;
	VEC(struct etcd_entry) entries;
	struct list proposals;
	struct cluster_etcd_member members[CLUSTER_ETCD_MEMBERS];
	int leader; /* -1: none */
	int64_t elect_ms; /* the next leader is elected then */
	unsigned terms, doubts;
	double lose;
	bool full;
};

int64_t etcd_now(const struct cluster_etcd *e);

/* --- cluster_etcd.c: the consensus ----------------------------------------------------------- */

/*
 * The work of a member in its turns: it elects, commits, applies. Returns ms until it is due again.
 */
int64_t etcd_consensus(struct cluster_etcd_member *m);

/* Hands a write over. `compact` counts where `txn` is NULL. */
void etcd_propose(struct cluster_etcd_member *m, struct etcd_ask *ask, const Etcd__TxnRequest *txn,
		  int64_t compact);

/* Nobody waits for it: it is forgotten unless the leader has it. */
void etcd_abandon(struct etcd_ask *ask);

/* The member is in touch with a leader. */
bool etcd_has_leader(const struct cluster_etcd_member *m);

/* The last entry that it has applied. */
struct etcd_entry etcd_applied(const struct cluster_etcd_member *m);

/* --- cluster_etcd_member.c ------------------------------------------------------------------- */

/* Something was committed, or the leader has changed: all members are to look. */
void etcd_spread(struct cluster_etcd *e);

#endif
