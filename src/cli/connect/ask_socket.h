/*
 * ask_socket - sends one HTTP request to a unix socket and reads the reply. Commands use it to
 * talk to a role on the same machine.
 *
 * It blocks, on its own loop.
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
	bool *ret_connected; /* set if the connection succeeded, whatever followed; or NULL */
};

/*
 * Returns 0 and the HTTP status for every reply, whatever it says, and appends its body to
 * `answer`. Without a reply it returns -ERR_TIMEOUT ("no answer within .."), -ERR_TOO_LARGE if the
 * reply exceeds the buffer's limit, or the error of the connection or of HTTP, prefixed with the
 * path.
 */
int ask_socket(const struct ask_socket *ask, struct buf *answer, int *ret_status,
	       struct error *err);

/* The same for a JSON reply. If the reply is an error, returns -ERR_INVALID with its message. */
int ask_socket_tree(const struct ask_socket *ask, struct arena *a, struct json **ret_tree,
		    struct error *err);

#endif
