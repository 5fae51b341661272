/*
 * request - parses the path and the query of a request.
 *
 * Takes text and fills a struct that borrows from it, without side effects. Knows the structure
 * of Kubernetes' URLs and the parameters of every verb. Errors have upstream's wording.
 */
#ifndef SERVER_REQUEST_REQUEST_H
#define SERVER_REQUEST_REQUEST_H

#include "api/selector/selector.h"
#include "api/write/write.h"
#include "base/core/error.h"
#include "base/core/str.h"
#include "base/report/field_errors.h"
#include "net/loop/url.h"

enum request_verb {
	/* Not about resources ("/healthz"); or a method that resources do not support. */
	REQUEST_NONE,
	REQUEST_GET,
	REQUEST_LIST,
	REQUEST_WATCH,
	REQUEST_CREATE,
	REQUEST_UPDATE,
	REQUEST_PATCH,
	REQUEST_DELETE,
	REQUEST_DELETE_COLLECTION,
	REQUEST_VERBS,
};

/* "get", "list", ... as in metrics, audit and authorization; "" for REQUEST_NONE. */
const char *request_verb_name(enum request_verb verb);

static inline bool request_verb_writes(enum request_verb verb)
{
	return verb >= REQUEST_CREATE;
}

enum request_match { MATCH_UNSET, MATCH_NOT_OLDER_THAN, MATCH_EXACT };

struct request {
	/* From the path; percent-decoded. */
	enum request_verb verb;
	/* A Namespace is cluster-scoped: /api/v1/namespaces/x is name "x", ns "". */
	struct str group, version, resource;
	OBJECT_TARGET;
	/* The path after the subresource (proxy); or the whole non-resource path. */
	struct str rest;
	struct str tail; /* for a proxy: the path after it, with its slash, as it was sent */

	/* From the query, parsed as upstream parses ListOptions and the other options. */
	struct str label_selector, field_selector; /* text */
	struct selector labels, fields;
	struct str resource_version;
	int64_t revision; /* parsed resource_version; -1: not given */
	enum request_match match;
	struct str cont; /* continue */
	int64_t limit; /* 0: no limit */
	int64_t timeout_s; /* timeoutSeconds; -1: not given */
	bool watch, bookmarks;
	bool send_initial_given, send_initial;
	bool dry_run;
	bool force_given;
	bool pretty, pretty_given;
	int64_t deadline_ms; /* timeout=34s; -1: not given */
	struct write_options write; /* fieldManager, fieldValidation, force */
	struct str field_validation; /* text: "", "Ignore", "Warn", "Strict" */
	struct str include_object; /* for Table */
	struct str propagation, grace; /* delete by query */
	bool orphan_given, orphan;
};

/*
 * Parses a request. -ERR_BAD_REQUEST if it is malformed; -ERR_INVALID with `errs` filled (kind
 * ListOptions, CreateOptions, ..) for combinations that upstream rejects; -ERR_NOT_FOUND for a
 * path that begins with /api/v1/ or /apis/ but does not name a resource. Text lives in the arena
 * or the source.
 */
int request_parse(struct request *r, struct arena *a, struct str method, struct str path,
		  struct str query, struct field_errors *errs, struct error *err);

/* The kind of options that `errs` refers to, such as "ListOptions". */
const char *request_options_kind(const struct request *r);

/* The rules of PatchOptions that depend on the body's type. */
void request_check_patch(const struct request *r, bool apply, struct field_errors *errs);

/* Escapes and parameters: net/loop/url.h. */
static inline bool request_unescape(struct arena *a, struct str s, bool plus, struct str *ret_text)
{
	return url_unescape(a, s, plus, ret_text);
}

static inline bool request_param(struct str *rest, struct arena *a, struct str *ret_name,
				 struct str *ret_value)
{
	return url_param(rest, a, ret_name, ret_value);
}

/*
 * Parses a parameter. As upstream, every boolean but "0" and "false" is true, also an empty one.
 * -ERR_BAD_REQUEST.
 */
bool request_read_bool(struct str value);
int request_read_i64(struct str value, int64_t *ret_number, struct error *err);

/*
 * Continue tokens: base64url of {"v":"meta.k8s.io/v1","rv":N,"start":"KEY"}. The list continues
 * after the key; revision -1 means the newest.
 */

struct str request_continue_print(struct arena *a, int64_t revision, struct str key);
int request_continue_parse(struct str token, struct arena *a, int64_t *ret_revision,
			   struct str *ret_key, struct error *err);

#endif
