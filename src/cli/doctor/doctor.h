/*
 * doctor - the findings of `devplane doctor`: one line each, and what to do.
 *
 * Checks only read and never change anything. A check that is impossible because something else is
 * missing prints nothing: the missing thing has its own line.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include "base/core/vec.h"
#include "cli/program/cli.h"
#include "cli/up/state.h"

enum { DOCTOR_MINOR_MIN = 34 }; /* of Kubernetes: resource.k8s.io/v1 */

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
	enum doctor_verdict verdict;
	const char *subject; /* a few words */
	const char *text;
	const char *hint; /* what to do; or NULL */
};

struct doctor {
	struct cli *cli;
	struct arena *arena;
	const char *runtime_endpoint; /* or NULL: the usual places */
	struct up_layout layout;
	bool folder; /* check the cluster of a folder; else that of a kubeconfig */
	bool install; /* also check the parts of deploy/ in the cluster */
	bool no_reviews; /* the user may not ask for the rights of others; it was said */
	bool no_proxy; /* the user may not ask pods; it was said */
	int64_t pid; /* of the folder's supervisor; 0: not running */
	struct up_state state;
	VEC(struct doctor_finding) findings;
};

/* `hint` may be NULL; the text is formatted. */
void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *subject,
		const char *hint, const char *fmt, ...) PRINTF_LIKE(5, 6);

void doctor_check_folder(struct doctor *d); /* doctor/folder.c */
void doctor_check_roles(struct doctor *d);
void doctor_check_machine(struct doctor *d); /* doctor/machine.c */

struct kube;
void doctor_check_devices(struct doctor *d, struct kube *k); /* doctor/devices.c */

struct json;
struct kube_options;
void doctor_check_cluster(struct doctor *d, const struct kube_options *o); /* doctor/cluster.c */

/* Reads a path that is no resource; JSON, or text if `ret_tree` is NULL. Not retried. */
int doctor_fetch(struct kube *k, const char *path, struct str *ret_text, struct json **ret_tree,
		 struct error *err);

/*
 * Reads a path whatever the reply's status is: *ret_text is empty if no reply came. Waits five
 * seconds, and does not retry. `err` is set for every status but 2xx.
 */
int doctor_fetch_any(struct kube *k, const char *path, const char *query, struct str *ret_text,
		     struct error *err);

/* The parts of deploy/ in the cluster: versions, workloads, leases. */
void doctor_check_install(struct doctor *d, struct kube *k); /* doctor/install.c */

/* Versions and gates of the kubelets. Nothing if the caller may not list nodes. */
void doctor_check_kubelets(struct doctor *d, struct kube *k); /* doctor/kubelets.c */

/*
 * Whether the service account of a part of deploy/ has the rights that the part needs with the
 * arguments of its first container. `pod`: the spec of its pods.
 */
void doctor_check_rights(struct doctor *d, struct kube *k, struct str part, struct str ns,
			 const struct json *pod); /* doctor/rights.c */

/* Whether the policies are there that restrict that account, where RBAC cannot. */
void doctor_check_policies(struct doctor *d, struct kube *k, struct str part,
			   const struct json *pod); /* doctor/policies.c */

#endif
