/*
 * up_state - up.json: the state of `devplane up`, for `status`, `down`, `logs` and `doctor`.
 *
 * The whole file is written at each change. Its information on processes may be outdated; only the
 * lock next to it shows whether the supervisor still runs.
 */
#ifndef CLI_UP_STATE_H
#define CLI_UP_STATE_H

#include "base/core/buf.h"
#include "cli/up/layout.h"

enum { UP_STATE_FORMAT = 1 };

struct up_state_role {
	struct str name, state, metrics, failure; /* metrics: "127.0.0.1:33921", or empty */
	struct str health; /* of a program that is not ours: the base URL of /healthz; or empty */
	int64_t pid; /* 0: not running */
	int64_t restarts;
	int64_t since_ns; /* when the state began; wall clock */
};

struct up_state {
	int64_t pid, start_ns;
	struct str version, server, kubeconfig, page; /* page: empty without one */
	bool ready; /* everything has been ready once */
	struct up_state_role *roles;
	size_t n;
};

void up_state_print(const struct up_state *s, struct buf *out);

/*
 * Returns -ERR_INVALID if it is not our file, or has a newer format. Text is copied into the
 * arena.
 */
int up_state_parse(struct str text, struct arena *a, struct up_state *ret_state, struct error *err);

/* Returns -ERR_NOT_FOUND if the file does not exist. */
int up_state_read(const struct up_layout *l, struct up_state *ret_state, struct error *err);

/* The role of that name, or NULL. */
const struct up_state_role *up_state_find(const struct up_state *s, struct str name);

/*
 * Takes the lock and signs it. Returns -ERR_ALREADY_EXISTS if a supervisor holds it. The
 * descriptor is the lock.
 */
int up_state_lock(const struct up_layout *l, int *ret_fd, struct error *err);

/* Writes the pid of this process into the lock. Call it again after a fork. */
void up_state_sign(int lock_fd);

/* Releases the lock and clears the pid in it, so that the next holder is not mistaken for us. */
void up_state_unlock(int lock_fd);

/*
 * The pid of the running supervisor. 0: none runs. -1: one runs that has not signed yet, or has
 * just ended.
 */
int64_t up_state_holder(const struct up_layout *l);

#endif
