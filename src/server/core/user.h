/*
 * user - the user who makes a request.
 *
 * Text is borrowed from the user's source: a request's arena, a token file, or a cache of tokens
 * that the request holds.
 */
#ifndef SERVER_CORE_USER_H
#define SERVER_CORE_USER_H

#include "base/core/str.h"

#define USER_ANONYMOUS       STR("system:anonymous")
#define USER_AUTHENTICATED   STR("system:authenticated")
#define USER_UNAUTHENTICATED STR("system:unauthenticated")
#define USER_MASTERS         STR("system:masters")
/* The server itself as a client of kubelets. */
#define USER_KUBELET_CLIENT   STR("kube-apiserver-kubelet-client")
#define USER_SERVICE_ACCOUNTS STR("system:serviceaccounts")

/* Keys of extra fields that authorization reads. */
#define USER_EXTRA_NODE_NAME STR("authentication.kubernetes.io/node-name")

/* Additional keys that service accounts' tokens have. */
#define USER_EXTRA_NODE_UID      STR("authentication.kubernetes.io/node-uid")
#define USER_EXTRA_POD_NAME      STR("authentication.kubernetes.io/pod-name")
#define USER_EXTRA_POD_UID       STR("authentication.kubernetes.io/pod-uid")
#define USER_EXTRA_CREDENTIAL_ID STR("authentication.kubernetes.io/credential-id")

struct arena;
struct json;

struct user_extra {
	struct str key;
	const struct str *values;
	size_t nvalues;
};

/*
 * The objects that a service account's token is bound to. The account, and the pod, node or
 * secret if the token names one, must exist with that uid whenever the token is used.
 */
struct user_binding {
	struct str ns, account, account_uid;
	struct str pod, pod_uid; /* empty: not bound to a pod */
	struct str node, node_uid;
	struct str secret, secret_uid;
};

struct user {
	struct str name; /* "system:anonymous" without credentials */
	struct str uid;
	const struct str *groups;
	size_t ngroups;
	/* For an impersonated user: that many last groups were added by the server. */
	size_t nimplied;
	const struct user_extra *extras;
	size_t nextras;
	const struct user_binding *binding; /* for a service account's token; else NULL */
	int64_t ends_s; /* when the credentials expire, in seconds since 1970; 0: never */
	bool authenticated;
};

/* The user of a request without credentials. */
struct user user_anonymous(void);

bool user_in_group(const struct user *u, struct str group);

/* The value of an extra field; p NULL if it is absent or has several values. */
struct str user_extra(const struct user *u, struct str key);

/* Splits "system:serviceaccount:NS:NAME"; returns false for any other name. */
bool user_service_account(const struct user *u, struct str *ret_ns, struct str *ret_name);

/* The NAME of "system:node:NAME" if the user is in system:nodes; p NULL for other users. */
struct str user_node(const struct user *u);

/*
 * The user as a UserInfo of authentication.k8s.io/v1; and texts as a JSON array. Text is
 * borrowed.
 */
struct json *user_info(struct arena *a, const struct user *u);
struct json *user_texts(struct arena *a, const struct str *v, size_t n);

#endif
