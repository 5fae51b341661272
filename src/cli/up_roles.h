/*
 * up_roles - what `devplane up` runs: a row for each kind of role says how it is called, as whom it
 * comes to the server, what the system lets it do, and when it is stopped.
 *
 * Pure: makes words and names; starts nothing.
 */
#ifndef CLI_UP_ROLES_H
#define CLI_UP_ROLES_H

#include "base/flags.h"
#include "cli/up_layout.h"

/* In the order in which they are started; they are stopped in the reverse one. */
enum up_kind {
	UP_SERVER,
	UP_CONTROLLER,
	UP_SCHEDULER,
	UP_NODE,
	UP_HOLLOW, /* several hollow nodes in one process */
	UP_DRIVER,
	UP_KINDS,
};

struct up_role {
	const char *name;
	enum up_kind kind;
	const char *node; /* of a node or a driver; of UP_HOLLOW what its nodes' names begin with */
	const char *device; /* of a driver: "gpu" */
	int devices;
	bool runtime; /* a node: its containers are real */
};

/* What is to run. Text is borrowed for as long as the plan lives. */
struct up_plan {
	struct arena *arena;
	struct up_layout layout;
	const char *bind_address;
	int port; /* 0: the server picks one; set as soon as it did */
	const struct flag_list *etcd_servers, *feature_gates;
	const char *runtime_endpoint; /* of real containers; NULL: the local node is hollow */
	const char *local_node; /* NULL: there is none */
	int64_t hollow; /* further nodes */
	bool demo;
	bool any_kubelet; /* the server does not check kubelets' certificates */
	int64_t v; /* how much roles log */
	const char *scheduler_config; /* NULL: none */

	struct up_role *roles;
	size_t n;
};

/* Fills `roles`. */
void up_plan_roles(struct up_plan *p);

/* How many nodes there will be. */
size_t up_plan_nodes(const struct up_plan *p);

/* The words behind "devplane", ended by NULL; in the plan's arena. */
const char *const *up_role_words(const struct up_plan *p, const struct up_role *r);

/* What of root's powers it keeps: words of `devplane confine --capabilities`. */
const char *up_role_capabilities(const struct up_plan *p, const struct up_role *r);

/* Who it is to the server: by a certificate (user and perhaps a group) or an account's token. */
struct up_identity {
	const char *user, *group; /* NULL: none */
	const char *account; /* in kube-system; its token is bound to the role's node */
};
struct up_identity up_role_identity(const struct up_plan *p, const struct up_role *r);

/* The node whose API, as a kubelet's, the role serves; NULL: none. In the plan's arena. */
const char *up_role_served_node(const struct up_plan *p, const struct up_role *r);

#endif
