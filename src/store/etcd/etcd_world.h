/*
 * etcd_world - for tests: a simulated etcd that fails on demand.
 *
 * It serves the part of etcd's API that the store uses, from a log in memory, with one or two
 * members. It can fail at a given moment, unlike a real etcd. It can lose an answer before or after
 * applying the request, apply it much later, or answer out of order. It can also hold back events,
 * fragment responses, compact, and go back to an older revision. Its errors have etcd's words.
 */
#ifndef STORE_ETCD_ETCD_WORLD_H
#define STORE_ETCD_ETCD_WORLD_H

#include "base/core/vec.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "store/etcd/log.h"
#include "store/store.h"

enum { ETCD_WORLD_MEMBERS = 2, ETCD_WORLD_CALLS = 64 };

struct etcd_world;
struct store_etcd_opts;

/* A watch of one stream. */
struct etcd_world_watch {
	struct grpc_call *call;
	size_t at; /* index in the log of the next change to send */
};

/* An answer that is held back. */
struct etcd_world_answer {
	struct grpc_call *call; /* holds a reference */
	bool succeeded;
	int64_t revision;
};

struct etcd_world_member {
	struct etcd_world *world;
	struct loop *loop; /* NULL: the member is down */
	struct http_server *http;
	struct grpc_server *grpc;
	char host[16], url[48];
	struct etcd_world_watch watches[ETCD_WORLD_CALLS];
	size_t nwatches;
	struct loop_msg news; /* something changed at another member */
	bool has_news;
	/* Knobs. */
	bool leaderless; /* rejects all requests with etcd's error */
	bool mute; /* accepts requests and never answers; its watches send nothing */
	bool lags; /* answers, but its watches send nothing */
	unsigned calls; /* requests received, except watches and probes */
	unsigned probes; /* serializable reads received, which check whether it is alive */
};

/* How the next transactions of the store's clients are handled. */
enum etcd_world_fate {
	ETCD_WORLD_ANSWER,
	ETCD_WORLD_DROP, /* not applied; the client gets "request timed out", so it cannot know */
	ETCD_WORLD_LOSE, /* applied; the client gets the same */
	ETCD_WORLD_DELAY, /* applied at etcd_world_apply(); the client gets the same */
	ETCD_WORLD_HOLD, /* applied; the answer is sent at etcd_world_answer() */
	ETCD_WORLD_FULL, /* rejected: no space */
	/* Neither applied nor answered: it was on its way to a leader that died. */
	ETCD_WORLD_VANISH,
};

struct etcd_world {
	struct sim *sim;
	struct loop *client_loop;
	struct etcd_world_member members[ETCD_WORLD_MEMBERS];
	size_t nmembers;
	struct etcd_log log; /* its `term` is also a knob */
	/* Knobs. */
	enum etcd_world_fate fate;
	unsigned fated; /* number of transactions that `fate` applies to; later ones are answered */
	bool hold_events; /* watches send nothing */
	size_t piece; /* events in one response, the rest in further fragments; 0: all */
	VEC(struct etcd_world_answer) held;
	VEC(void *) delayed; /* transactions, unpacked */
	unsigned watches_opened, txns;
};

/* `members` is 1 or 2; they are up. */
void etcd_world_init(struct etcd_world *w, uint64_t seed, size_t members);
/* The same with connections that carry at most some ten thousand bytes per second. */
void etcd_world_init_slow(struct etcd_world *w, uint64_t seed, size_t members);

/* Close the stores first. */
void etcd_world_release(struct etcd_world *w);

/*
 * Opens a store on the client's loop, with all members as endpoints. `opts` has the other options,
 * or is NULL.
 */
struct store *etcd_world_open(struct etcd_world *w, const struct store_etcd_opts *opts);
void etcd_world_close(struct etcd_world *w, struct store *s);

void etcd_world_run(struct etcd_world *w, int64_t ms);

/* Runs until *flag is true. Fails the test after 60 s of simulated time. */
void etcd_world_until(struct etcd_world *w, const bool *flag);

/* Stops and starts a member's process; the data stays. */
void etcd_world_crash(struct etcd_world *w, size_t member);
void etcd_world_start(struct etcd_world *w, size_t member);

/* Makes a change as another client. Value NULL: deletion. Returns its revision. */
int64_t etcd_world_change(struct etcd_world *w, const char *key, const char *value);

/* Two changes in one transaction. */
int64_t etcd_world_change_both(struct etcd_world *w, const char *key1, const char *key2,
			       const char *value);

/* The key's value without its stamp, or an empty str with p NULL. */
struct str etcd_world_get(struct etcd_world *w, const char *key);

/* The value of a change without its stamp; borrowed. */
struct str etcd_world_value(const struct etcd_log_change *c);

/* Compacts to the revision; goes back to it, like a restored backup. */
void etcd_world_compact(struct etcd_world *w, int64_t revision);
void etcd_world_go_back(struct etcd_world *w, int64_t revision);

/* Send the held answers, the last first; apply the delayed transactions; send the held events. */
void etcd_world_answer(struct etcd_world *w);
void etcd_world_apply(struct etcd_world *w);
void etcd_world_let_events(struct etcd_world *w);

#endif
