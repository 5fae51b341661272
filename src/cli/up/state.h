/*
 * up_state - up.json: what `devplane up` says of itself to `status`, `down`, `logs` and `doctor`.
 *
 * Written whole, at each change. What it says of processes was true then; whether the supervisor
 * still runs is told by the lock beside it alone.
 */
#ifndef CLI_UP_STATE_H
#define CLI_UP_STATE_H

#include "base/core/buf.h"
#include "cli/up/layout.h"

enum { UP_STATE_FORMAT = 1 };

struct up_state_role {
	struct str name, state, metrics, failure; /* metrics: "127.0.0.1:33921", or empty */
	int64_t pid; /* 0: it does not run */
	int64_t restarts;
	int64_t since_ns; /* when the state began; wall clock */
};

struct up_state {
	int64_t pid, start_ns;
	struct str version, server, kubeconfig, page; /* page: empty without one */
	bool ready; /* everything was, once */
	struct up_state_role *roles;
	size_t n;
};

void up_state_print(const struct up_state *s, struct buf *out);

/* -ERR_INVALID when it is not ours, or of a newer format. Text is copied into the arena. */
int up_state_parse(struct str text, struct arena *a, struct up_state *ret_state, struct error *err);

/* -ERR_NOT_FOUND when there is none. */
int up_state_read(const struct up_layout *l, struct up_state *ret_state, struct error *err);

/* The role of that name, or NULL. */
const struct up_state_role *up_state_find(const struct up_state *s, struct str name);

/*
 * Takes the lock, and signs it; -ERR_ALREADY_EXISTS when a supervisor has it. The descriptor is the
 * lock.
 */
int up_state_lock(const struct up_layout *l, int *ret_fd, struct error *err);

/* Writes into the lock who has it: this process. One that forked signs again. */
void up_state_sign(int lock_fd);

/* Gives it back, without a name in it: whoever takes it next is not to be mistaken for us. */
void up_state_unlock(int lock_fd);

/*
 * Roles of a supervisor that was killed die with it, which takes a moment: waits for those that the
 * state names, for a few seconds at most.
 */
void up_state_wait_for_end(const struct up_state *s);

/* The supervisor that runs; 0: none does. -1: one does that has not signed yet, or is just gone. */
int64_t up_state_holder(const struct up_layout *l);

#endif
