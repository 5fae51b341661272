/*
 * allowed - which requests `devplane ui` forwards to the API server.
 *
 * Only what the device page needs: reading devices and their holders, discovery, and questions of
 * users about themselves. Never secrets, logs, proxies or commands, whatever the user may do.
 *
 * No side effects.
 */
#ifndef CLI_UI_ALLOWED_H
#define CLI_UI_ALLOWED_H

#include "base/core/error.h"
#include "base/core/str.h"

struct http_head;

/*
 * -ERR_NOT_FOUND if the page does not need that path, -ERR_METHOD_NOT_ALLOWED if it needs only
 * other methods, -ERR_BAD_REQUEST if the path is not in its plain form.
 */
int allowed_check(struct str method, struct str path, struct error *err);

/* Whether the query asks for a watch. */
bool allowed_is_watch(struct str query);

#endif
