/*
 * security_standard - the Pod Security Standards that apply in a namespace.
 *
 * Labels of the namespace name a standard, which is a level and a version of Kubernetes, for each
 * of three modes: a pod that violates the first is rejected, a violation of the second is noted in
 * the audit log, and one of the third is a warning.
 */
#ifndef API_SECURITY_STANDARD_H
#define API_SECURITY_STANDARD_H

#include <limits.h>

#include "base/report/field_errors.h"

struct json;

#define SECURITY_LABELS "pod-security.kubernetes.io/"

/* From lax to strict. */
enum security_level { SECURITY_PRIVILEGED, SECURITY_BASELINE, SECURITY_RESTRICTED };

/* SECURITY_NEWEST: the newest version whose rules are known. */
enum { SECURITY_NEWEST = 37, SECURITY_LATEST = INT_MAX };

struct security_standard {
	enum security_level level;
	int minor; /* of version 1, or SECURITY_LATEST */
};

enum security_mode { SECURITY_ENFORCE, SECURITY_AUDIT, SECURITY_WARN, SECURITY_MODES };

struct security_policy {
	struct security_standard of[SECURITY_MODES];
};

/* "baseline" and "v1.30" or "latest". Return an error text, or NULL. */
const char *security_level_parse(struct str text, enum security_level *ret_level);
const char *security_version_parse(struct str text, int *ret_minor);

/*
 * Reads the labels of a namespace (NULL: it has none). A mode without labels has its default, but
 * a violation of a stricter enforced level is also a warning. A label that cannot be read adds to
 * `errs`; it then means the strictest standard to enforce, and nothing to note or warn about.
 */
void security_policy_read(const struct json *labels, const struct security_policy *defaults,
			  struct field_errors *errs, struct security_policy *ret_policy);

bool security_standard_is(const struct security_standard *a, const struct security_standard *b);

/* Whether no mode restricts anything. */
bool security_policy_is_privileged(const struct security_policy *p);

const char *security_level_name(enum security_level level);
const char *security_mode_name(enum security_mode mode);

/* "latest" or "v1.30". */
const char *security_version_print(int minor, struct arena *a);

/* "baseline:latest". */
const char *security_standard_print(const struct security_standard *s, struct arena *a);

#endif
