/*
 * up_roles - the roles that `devplane up` runs. A row for each kind of role has its command line,
 * its identity at the server, its permissions on the system, and when it is stopped.
 *
 * Pure: computes words and names; starts nothing.
 */
#ifndef CLI_UP_ROLES_H
#define CLI_UP_ROLES_H

#include "base/system/flags.h"
#include "cli/up/layout.h"

/* In the order of starting; they are stopped in reverse order. */
enum up_kind {
	UP_SERVER,
	UP_CONTROLLER,
	UP_CONTROLLER_MANAGER, /* upstream's program */
	UP_SCHEDULER,
	UP_KUBE_PROXY, /* upstream's program */
	UP_NODE,
	UP_HOLLOW, /* several hollow nodes in one process */
	UP_DRIVER,
	UP_EXPLAIN, /* an explanation for the server's page; runs now and then */
	UP_KINDS,
};

struct up_role {
	const char *name;
	enum up_kind kind;
	const char *node; /* of a node or a driver; for UP_HOLLOW the prefix of its nodes' names */
	const char *device; /* of a driver: "gpu"; its name and account have this */
	int devices;
	const char *simulates; /* the kind of its devices, if it is not `device`; or NULL */
	bool partitions, shares, fabric; /* of a driver: flags of `driver sim` */
	bool runtime; /* a node: its containers are real */
	int user; /* its number above the plan's uid_base; 0: the user of `up` */
	int place; /* for a demo's node and its drivers: the node's number; else -1 */
	const char *program; /* absolute path of a program that is not ours; or NULL */
};

/* The configuration of a cluster. Text is borrowed for as long as the plan lives. */
struct up_plan {
	struct arena *arena;
	struct up_layout layout;
	const char *bind_address;
	int port; /* 0: the server picks one; set once it did */
	const struct flag_list *etcd_servers, *feature_gates;
	const char *runtime_endpoint; /* for real containers; NULL: the local node is hollow */
	const char *local_node; /* NULL: no local node */
	int64_t hollow; /* number of additional hollow nodes */
	const char *controller_manager, *kube_proxy; /* absolute paths; NULL: not run */
	bool prefer_upstream; /* controllers that both have are run by kube-controller-manager */
	int ports[2]; /* for health and metrics of a program that is not ours; set for each start */
	bool demo;
	bool varied; /* the demo has partitioned, shared and network-attached devices, too */
	bool any_kubelet; /* the server does not verify kubelets' certificates */
	int64_t v; /* log verbosity of the roles */
	const char *scheduler_config; /* NULL: none */
	const char *scheduler_plugin; /* named by the configuration; NULL: none */
	int64_t uid_base; /* 0: all roles run as the user of `up` */
	bool sandbox; /* restrict roles to the files and system calls that they need */

	struct up_role *roles;
	size_t n;
};

/* Fills `roles`. */
void up_plan_roles(struct up_plan *p);

/* The role of an explanation. It is not supervised, so it is not among a plan's `roles`. */
extern const struct up_role up_explain_role;

/* The number of nodes. */
size_t up_plan_nodes(const struct up_plan *p);

/* The arguments after "devplane", ended by NULL; in the plan's arena. */
const char *const *up_role_words(const struct up_plan *p, const struct up_role *r);

/* The capabilities that it keeps: words of `devplane confine --capabilities`. */
const char *up_role_capabilities(const struct up_plan *p, const struct up_role *r);

/*
 * The role's identity on the system. Users and groups are numbers without names, from the plan's
 * uid_base on. A role's user and group have the same number.
 */
enum up_number {
	UP_ALL, /* the group that may traverse the data folder */
	UP_SERVER_USER,
	UP_CONTROLLER_USER,
	UP_SCHEDULER_USER,
	UP_DRIVERS, /* the group of all drivers */
	UP_CONTROLLER_MANAGER_USER,
	UP_EXPLAIN_USER,
	UP_NODE_GROUPS = 8, /* two for each node: see up_node_group() and up_driver_group() */
	UP_DRIVER_USERS = 16,
	UP_NUMBERS = 64, /* all numbers are below */
};

struct up_user {
	unsigned uid; /* 0: the user of `up` */
	unsigned groups[4];
	size_t ngroups;
};
struct up_user up_role_user(const struct up_plan *p, const struct up_role *r);

/*
 * The group that may connect to the sockets of a node's drivers: its agent is a member. 0: no
 * group.
 */
unsigned up_node_group(const struct up_plan *p, int place);

/* The group that may traverse a node's folder: its drivers are members. 0: no group. */
unsigned up_driver_group(const struct up_plan *p, int place);

/* The driver's name, "gpu.sim.devplane.dev". */
const char *up_driver_name(const struct up_plan *p, const struct up_role *r);

/* The files and system calls that the role may use. */
struct up_sandbox {
	const char *const *execute, *const *read, *const *write; /* ended by NULL */
	const char *syscalls; /* a word of `devplane confine --syscalls` */
	bool landlock; /* false: all files */
};
struct up_sandbox up_role_sandbox(const struct up_plan *p, const struct up_role *r);

/*
 * The role's identity at the server: a certificate's user and optional group, or an account's
 * token.
 */
struct up_identity {
	const char *user, *group; /* NULL: none */
	const char *account; /* in kube-system; its token is bound to the role's node */
};
struct up_identity up_role_identity(const struct up_plan *p, const struct up_role *r);

/* The base URL of its health endpoint "/healthz", if it is not our program; else NULL. */
const char *up_role_health(const struct up_plan *p, const struct up_role *r);

/* The node whose kubelet API the role serves; NULL: none. In the plan's arena. */
const char *up_role_served_node(const struct up_plan *p, const struct up_role *r);

#endif
