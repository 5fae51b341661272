/*
 * user - who asks.
 *
 * Text is borrowed from whatever the user was found in: a request's arena, a
 * token file, a cache of tokens that the request holds.
 */
#ifndef SERVER_CORE_USER_H
#define SERVER_CORE_USER_H

#include "base/core/str.h"

#define USER_ANONYMOUS       STR("system:anonymous")
#define USER_AUTHENTICATED   STR("system:authenticated")
#define USER_UNAUTHENTICATED STR("system:unauthenticated")
#define USER_MASTERS         STR("system:masters")
/* The server itself, when it asks kubelets. */
#define USER_KUBELET_CLIENT   STR("kube-apiserver-kubelet-client")
#define USER_SERVICE_ACCOUNTS STR("system:serviceaccounts")

/* Keys of extras that authorization looks at. */
#define USER_EXTRA_NODE_NAME STR("authentication.kubernetes.io/node-name")

/* Those that service accounts' tokens also bring. */
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
 * What a service account's token hangs on. The account, and the pod, node or secret when the
 * token names one, must exist with that uid whenever the token is used.
 */
struct user_binding {
	struct str ns, account, account_uid;
	struct str pod, pod_uid; /* empty: not bound to one */
	struct str node, node_uid;
	struct str secret, secret_uid;
};

struct user {
	struct str name; /* "system:anonymous" when nobody said */
	struct str uid;
	const struct str *groups;
	size_t ngroups;
	size_t nimplied; /* of an impersonated user: the last groups, which nobody asked for */
	const struct user_extra *extras;
	size_t nextras;
	const struct user_binding *binding; /* of a service account's token; else NULL */
	int64_t ends_s; /* since 1970: when what was shown is no good any more; 0: never */
	bool authenticated;
};

/* Who says nothing. */
struct user user_anonymous(void);

bool user_in_group(const struct user *u, struct str group);

/* The one value of an extra; p NULL when there is none, or more than one. */
struct str user_extra(const struct user *u, struct str key);

/* "system:serviceaccount:NS:NAME" in its parts; false for any other name. */
bool user_service_account(const struct user *u, struct str *ret_ns, struct str *ret_name);

/* "system:node:NAME" of a member of system:nodes; p NULL for anybody else. */
struct str user_node(const struct user *u);

/* The user as UserInfo of authentication.k8s.io/v1; and texts as an array. Text is borrowed. */
struct json *user_info(struct arena *a, const struct user *u);
struct json *user_texts(struct arena *a, const struct str *v, size_t n);

#endif
