/*
 * server_limits - limits of the API server; see base/core/limits.h.
 */
#ifndef SERVER_SERVER_LIMITS_H
#define SERVER_SERVER_LIMITS_H

#include "base/core/limits.h"

/* Bytes per second of a request's body; below it 408. */
#define HTTP_BODY_RATE_MIN (4UL * KIB)

/* Replies of the API server up to this size are not compressed, like upstream. */
#define GZIP_FROM (128UL * KIB)

/* A webhook's reply: a patch of the largest object in base64, and more. */
#define WEBHOOK_ANSWER_MAX (8UL * MIB)
#define WEBHOOK_REVIEW_MAX (16UL * MIB) /* the request to it: an object twice, and the user */

/*
 * Mutating policies, for one write and round: how many mutations run, their cost in all
 * (CEL_POLICY_BUDGET is that of one), and how many failures a rejection names.
 */
#define MUTATIONS_MAX         1000
#define MUTATIONS_BUDGET      UINT64_C(100000000)
#define MUTATION_FAILURES_MAX 50

/* Buckets of one limit of EventRateLimit; each takes about 150 bytes. */
#define EVENT_LIMIT_BUCKETS_MAX 1000000

/* The static token file. */
#define TOKEN_FILE_MAX (16UL * MIB)

/* Recently verified tokens that one lane remembers. */
#define AUTHN_TOKENS_MAX 1024

/* Allowed requests that one lane remembers, and the bytes that describe one. */
#define AUTHZ_RIGHTS_MAX  1024
#define AUTHZ_RIGHT_BYTES 1024

/* Keys for verifying tokens; audiences of one token. */
#define TOKEN_KEYS_MAX      64
#define TOKEN_AUDIENCES_MAX 256

/* Documents generated for clients: one discovery or OpenAPI document. */
#define DISCOVERY_DOCUMENT_MAX (4UL * MIB)
#define OPENAPI_DOCUMENT_MAX   (64UL * MIB)

/* Missing roles, named by a user's bindings, that are reported. */
#define RBAC_MISSING_MAX 256

/* Combinations of verb, group, resource and name that one role may grant. */
#define RBAC_PIECES_MAX 5000
/* String comparisons for checking whether a user has the permissions that a role grants: 0.1 s. */
#define RBAC_COMPARISONS_MAX 20000000UL

/*
 * The audit log. An object in an event; the memory to read one or a policy; a line with two objects
 * and a request line of HTTP_TARGET_MAX.
 */
#define AUDIT_OBJECT_MAX        (4UL * MIB)
#define AUDIT_TREE_MAX          (128UL * MIB)
#define AUDIT_LINE_MAX          (2 * AUDIT_OBJECT_MAX + 512UL * KIB)
#define AUDIT_STATUS_MAX        (64UL * KIB) /* the details of a failure */
#define AUDIT_POLICY_MAX        (1UL * MIB)
#define AUDIT_POLICY_MEMORY_MAX (64UL * MIB)
#define AUDIT_BUFFER_BYTES      (64UL * MIB) /* lines that wait for the file, or for the webhook */
#define AUDIT_BATCH_BYTES       (10UL * MIB) /* after so many bytes nothing is added to a POST */
#define AUDIT_BACKUPS_MAX       100000 /* older files that are looked at */

#endif
