/*
 * up_roles - what `devplane up` runs: a row for each kind of role says how it is called, as whom it
 * comes to the server, what the system lets it do, and when it is stopped.
 *
 * Pure: makes words and names; starts nothing.
 */
#ifndef CLI_UP_ROLES_H
#define CLI_UP_ROLES_H

#include "base/system/flags.h"
#include "cli/up/layout.h"

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
	int user; /* its number above the plan's uid_base; 0: it stays who `up` is */
	int place; /* of a demo's node and of its drivers: the node's number; else -1 */
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
	const char *scheduler_plugin; /* that the configuration names; NULL: none */
	int64_t uid_base; /* 0: all roles stay who `up` is */
	bool sandbox; /* roles use the files and system calls only that they need */

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

/*
 * Who it is to the system. Users and groups are numbers without names, from the plan's uid_base on;
 * a role's user and group have the same one.
 */
enum up_number {
	UP_ALL, /* the group of those that may pass the data folder */
	UP_SERVER_USER,
	UP_CONTROLLER_USER,
	UP_SCHEDULER_USER,
	UP_DRIVERS, /* the group of all drivers */
	UP_NODE_GROUPS = 8, /* two for each node: see up_node_group() and up_driver_group() */
	UP_DRIVER_USERS = 16,
	UP_NUMBERS = 64, /* all are below */
};

struct up_user {
	unsigned uid; /* 0: it stays who `up` is */
	unsigned groups[4];
	size_t ngroups;
};
struct up_user up_role_user(const struct up_plan *p, const struct up_role *r);

/* The group that may connect to the sockets of a node's drivers: its agent has it. 0: no group. */
unsigned up_node_group(const struct up_plan *p, int place);

/* The group that may pass a node's folder: its drivers have it. 0: no group. */
unsigned up_driver_group(const struct up_plan *p, int place);

/* The driver's name, "gpu.sim.devplane.dev". */
const char *up_driver_name(const struct up_plan *p, const struct up_role *r);

/* What it may do with files, and which system calls it may make. */
struct up_sandbox {
	const char *const *execute, *const *read, *const *write; /* ended by NULL */
	const char *syscalls; /* a word of `devplane confine --syscalls` */
	bool landlock; /* false: all files */
};
struct up_sandbox up_role_sandbox(const struct up_plan *p, const struct up_role *r);

/* Who it is to the server: by a certificate (user and perhaps a group) or an account's token. */
struct up_identity {
	const char *user, *group; /* NULL: none */
	const char *account; /* in kube-system; its token is bound to the role's node */
};
struct up_identity up_role_identity(const struct up_plan *p, const struct up_role *r);

/* The node whose API, as a kubelet's, the role serves; NULL: none. In the plan's arena. */
const char *up_role_served_node(const struct up_plan *p, const struct up_role *r);

#endif
