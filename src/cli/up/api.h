/*
 * up_api - what `devplane up` asks its own server for, as the administrator: accounts, tokens and
 * classes of the demo, whether nodes are ready, a link to the page.
 *
 * Threads: its loop's. Answers come later; none comes after up_api_close().
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
	size_t waiting; /* objects that are being made */
	void (*on_objects)(void *arg, const struct error *err);
	void *arg;
	struct error failure; /* the first of an object's */
};

void up_api_init(struct up_api *u, struct loop *l, const struct up_plan *p);
int up_api_open(struct up_api *u, struct error *err);
void up_api_close(struct up_api *u);

/* With the administrator's kubeconfig as it is now; questions on their way are answered with an
 * error. Where it cannot be read all stays as it was. */
int up_api_reopen(struct up_api *u, struct error *err);

/* Makes what is missing of the demo's accounts, classes and kinds; `done` is called once. */
void up_api_make_demo(struct up_api *u, void (*done)(void *arg, const struct error *err),
		      void *arg);

/* What came of a question; `text` is borrowed. */
typedef void up_api_fn(void *arg, struct str text, const struct error *err);

enum { UP_TOKEN_SECONDS = 3600 };

/* A token of the driver's account, bound to its node, which must exist. */
void up_api_token(struct up_api *u, const struct up_role *r, up_api_fn *fn, void *arg);

/* `text`: the uid of the Node. */
void up_api_node_uid(struct up_api *u, const char *node, up_api_fn *fn, void *arg);

/* `text`: how many nodes are Ready, as a number. */
void up_api_nodes(struct up_api *u, up_api_fn *fn, void *arg);

/* `text`: a code for the page, good for an hour; -ERR_NOT_FOUND where there is no page. */
void up_api_link(struct up_api *u, up_api_fn *fn, void *arg);

#endif
