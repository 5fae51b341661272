/*
 * web_limits - limits of the device page and its sessions; see base/core/limits.h.
 */
#ifndef WEB_WEB_LIMITS_H
#define WEB_WEB_LIMITS_H

#include "base/core/limits.h"
#include "net/net_limits.h"

/*
 * Sessions and one-time codes, in total and per user; failed logins per second
 * before all logins wait; the body of a login, which may be a token.
 */
#define UI_SESSIONS_MAX      1024
#define UI_USER_SESSIONS_MAX 64
#define UI_CODES_MAX         256
#define UI_USER_CODES_MAX    16
#define UI_FAILURES_MAX      10
#define UI_BODY_MAX          (JWT_MAX + 1UL * KIB)

/* Explanations at once; one of them: its time, its output, objects of each kind that it reads. */
#define UI_PASSES_MAX      4
#define EXPLAIN_MS         (40 * INT64_C(1000))
#define EXPLAIN_ANSWER_MAX (1UL * MIB) /* no larger pipe is allowed without privileges */
#define EXPLAIN_OBJECTS    20000

#endif
