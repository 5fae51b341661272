/*
 * up_api - requests of `devplane up` to its own server, as the administrator: accounts, tokens and
 * classes of the demo, whether nodes are ready, a link to the page.
 *
 * Threads: its loop's. Replies arrive later; none arrives after up_api_close().
 */
#ifndef CLI_UP_API_H
#define CLI_UP_API_H

#include "base/core/list.h"
#include "cli/up/roles.h"
#include "net/loop/loop.h"

struct client;

struct up_api {
	struct loop *loop;
	const struct up_plan *plan;
	struct client *client; /* NULL: closed */
	struct list calls;
	size_t waiting; /* number of objects being created */
	void (*on_objects)(void *arg, const struct error *err);
	void *arg;
	struct error failure; /* the first failure of an object */
};

void up_api_init(struct up_api *u, struct loop *l, const struct up_plan *p);
int up_api_open(struct up_api *u, struct error *err);
void up_api_close(struct up_api *u);

/*
 * Reconnects with the current administrator's kubeconfig; pending requests fail with an error. If
 * the kubeconfig cannot be read, nothing changes.
 */
int up_api_reopen(struct up_api *u, struct error *err);

/* Creates what is missing of the demo's accounts, classes and kinds; `done` is called once. */
void up_api_make_demo(struct up_api *u, void (*done)(void *arg, const struct error *err),
		      void *arg);

/* The result of a request; `text` is borrowed. */
typedef void up_api_fn(void *arg, struct str text, const struct error *err);

enum { UP_TOKEN_SECONDS = 3600 };

/* Requests a token for the driver's account, bound to its node, which must exist. */
void up_api_token(struct up_api *u, const struct up_role *r, up_api_fn *fn, void *arg);

/* `text`: the uid of the Node. */
void up_api_node_uid(struct up_api *u, const char *node, up_api_fn *fn, void *arg);

/* `text`: the number of Ready nodes. */
void up_api_nodes(struct up_api *u, up_api_fn *fn, void *arg);

/* `text`: a code for the page, valid for an hour; -ERR_NOT_FOUND: there is no page. */
void up_api_link(struct up_api *u, up_api_fn *fn, void *arg);

#endif
