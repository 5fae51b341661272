/*
 * check_pod - what the checks of pods share.
 */
#ifndef API_CHECK_POD_H
#define API_CHECK_POD_H

#include "api/checks.h"

/* The first element whose `member` is that text, or NULL. */
const struct json *check_find(const struct json *list, const char *member, struct str text);

/* Whether an element before this one has the same `member`. */
bool check_came_before(const struct json *list, const struct json *item, const char *member);

/* A container; `spec` is its pod's. */
void check_container(struct validation *v, const struct json *container, const struct json *spec,
		     const struct field_path *path);

/* 1 to 65535. */
void check_port_number(struct validation *v, int64_t port, const struct field_path *path);

#endif
