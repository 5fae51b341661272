/*
 * daemon_backoff - how soon the next failed pod of a node may be deleted: at once, then after 1 s,
 * doubled up to 15 minutes. An interval is forgotten after twice the maximum without a failure.
 * Pure: the caller passes the time.
 */
#ifndef CONTROLLER_DAEMON_SET_BACKOFF_H
#define CONTROLLER_DAEMON_SET_BACKOFF_H

#include "base/core/map.h"

enum { DAEMON_BACKOFF_MS = 1000, DAEMON_BACKOFF_MAX_MS = 15 * 60 * 1000 };

struct daemon_backoff {
	struct map by_node;
	int64_t swept_ms;
};

void daemon_backoff_init(struct daemon_backoff *b);
void daemon_backoff_release(struct daemon_backoff *b);

/* 0: it may be deleted now, which starts the next interval. Otherwise the time to wait. */
int64_t daemon_backoff_take(struct daemon_backoff *b, struct str node, int64_t now_ms);

/* How many failed pods of the node were deleted since its interval was forgotten. */
unsigned daemon_backoff_count(const struct daemon_backoff *b, struct str node);

/* The DaemonSet has changed: all intervals are forgotten. */
void daemon_backoff_clear(struct daemon_backoff *b);

#endif
