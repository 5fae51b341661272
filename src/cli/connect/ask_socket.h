/*
 * ask_socket - one HTTP request to a unix socket, and its answer: how commands speak with a role
 * that runs on the same machine.
 *
 * Waits, on a loop of its own.
 */
#ifndef CLI_CONNECT_ASK_SOCKET_H
#define CLI_CONNECT_ASK_SOCKET_H

#include "base/json/json.h"

/* Everything is borrowed. */
struct ask_socket {
	const char *path; /* of the socket */
	struct str method, target; /* "GET", "/devices" */
	struct str body; /* empty: none */
	int64_t timeout_ms; /* 0: ten seconds */
	bool *ret_connected; /* somebody was there, whatever came of it; or NULL */
};

/*
 * 0 and the status whenever there is an answer, whatever it says; its body is added to `answer`.
 * Else why there is none: -ERR_TIMEOUT "no answer within ..", -ERR_TOO_LARGE when it is above the
 * buffer's limit, or what connecting and HTTP give, with the path in front.
 */
int ask_socket(const struct ask_socket *ask, struct buf *answer, int *ret_status,
	       struct error *err);

/* The same for an answer in JSON. One that refuses is -ERR_INVALID, with what it says. */
int ask_socket_tree(const struct ask_socket *ask, struct arena *a, struct json **ret_tree,
		    struct error *err);

#endif
