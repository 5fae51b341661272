/*
 * security_check - one comparison of a pod with a rule, and what the rules share.
 */
#ifndef API_SECURITY_CHECKS_H
#define API_SECURITY_CHECKS_H

#include "base/core/arena.h"
#include "base/json/json.h"

/* A list of texts, borrowed from the pod. */
struct security_names {
	struct str *v;
	size_t n, cap;
};

struct security_check {
	const struct json *metadata, *spec;
	const struct json **containers; /* of all three kinds */
	size_t ncontainers;
	int minor; /* the version to check, at most the newest that is known */
	struct arena *a;
	/* The result; reason NULL: the pod follows the rule. */
	const char *reason, *detail;
};

/* Records a violation. */
void security_violate(struct security_check *c, const char *reason, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* --- what to name in a message ------------------------------------------------------ */

void security_names_add(struct security_check *c, struct security_names *l, struct str name);

/* Sorts the list and removes repetitions. */
void security_names_sort(struct security_names *l);

/* `"a", "b"`, or with any other separator and without quotes. */
const char *security_quote(struct security_check *c, const struct security_names *l);
const char *security_join(struct security_check *c, const struct security_names *l,
			  const char *separator);

/* `container "a"` or `containers "a", "b"`. */
const char *security_containers(struct security_check *c, const struct security_names *l);

/* The same, with `pod and ` before it if the pod itself is among them. */
const char *security_setters(struct security_check *c, bool pod, const struct security_names *l);

static inline const char *security_plural(size_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* --- reading ------------------------------------------------------------------------ */

/* Adds the texts that are wrong in a container, or any other holder of a securityContext. */
typedef bool (*security_is_bad)(struct security_check *c, const struct json *holder,
				struct security_names *values);

/* The containers for which `is_bad` is true. `values`: for its use; may be NULL. */
struct security_names security_bad_containers(struct security_check *c, security_is_bad is_bad,
					      struct security_names *values);

/* A member of the securityContext of a container, or of the spec. */
static inline const struct json *security_at(const struct json *holder, const char *name)
{
	return json_getz(json_getz(holder, "securityContext"), name);
}

/* Whether the pod has its own user namespace. */
bool security_has_own_users(const struct security_check *c);

/* Whether it says that it runs on Windows, where some rules do not apply. */
bool security_is_windows(const struct security_check *c);

bool security_is_one_of(struct str text, const char *const *list, size_t n);

/* --- the rules ---------------------------------------------------------------------- */

void security_check_app_armor(struct security_check *c);
void security_check_host_namespaces(struct security_check *c);
void security_check_host_path(struct security_check *c);
void security_check_host_ports(struct security_check *c);
void security_check_host_process(struct security_check *c);
void security_check_host_probes(struct security_check *c);
void security_check_sysctls(struct security_check *c);
void security_check_volumes(struct security_check *c);

void security_check_privileged(struct security_check *c);
void security_check_escalation(struct security_check *c);
void security_check_added_capabilities(struct security_check *c);
void security_check_dropped_capabilities(struct security_check *c);
void security_check_proc_mount(struct security_check *c);
void security_check_proc_mount_strictly(struct security_check *c);
void security_check_non_root(struct security_check *c);
void security_check_user(struct security_check *c);
void security_check_selinux(struct security_check *c);
void security_check_seccomp(struct security_check *c);
void security_check_seccomp_strictly(struct security_check *c);

#endif
